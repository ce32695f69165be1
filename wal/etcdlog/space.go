package etcdlog

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	roomEvery  = 2 * time.Second  // between two looks at whether the database is full
	roomAgain  = 5 * time.Second  // after a try that did not help, and twice as long after each further one
	roomSeldom = 2 * time.Minute  // at most
	roomWithin = 10 * time.Second // so long ending the alarm may take
)

// keepRoom looks after a database that has reached its quota, until ctx ends. etcd then takes no
// batch, and no node can renew its state, until somebody has the file written anew and takes the
// alarm back: Trim frees the pages of a file and never shortens it.
func (m *Member) keepRoom(ctx context.Context) {
	again := roomAgain
	for wait := roomEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = roomEvery
		if err := m.makeRoom(ctx); err != nil && ctx.Err() == nil {
			m.o.Log.Error("etcd is full and takes nothing", "member", m.o.Name, "error", err)
			wait, again = again, min(2*again, roomSeldom)
		} else {
			again = roomAgain
		}
	}
}

// makeRoom ends the alarm of a database that has reached its quota, where the part of it that is in
// use is smaller. Each member has an alarm of its own, and etcd takes nothing before all have ended.
func (m *Member) makeRoom(ctx context.Context) error {
	self := uint64(m.etcd.Server.MemberID())
	for _, alarm := range m.etcd.Server.Alarms() {
		if alarm.Alarm != etcdserverpb.AlarmType_NOSPACE || alarm.MemberID != self {
			continue
		}
		return m.endAlarm(ctx, &clientv3.AlarmMember{MemberID: self, Alarm: alarm.Alarm})
	}
	return nil
}

func (m *Member) endAlarm(ctx context.Context, alarm *clientv3.AlarmMember) error {
	database := m.etcd.Server.Backend()
	// How much of the file is in use is not known before: pages that were freed count as used until
	// something is written.
	if err := database.Defrag(); err != nil {
		return fmt.Errorf("etcdlog: write the database of member %s anew: %w", m.o.Name, err)
	}
	if bytes := database.Size(); bytes > m.o.Quota/10*9 {
		return fmt.Errorf("etcdlog: member %s uses %d bytes of %d: the log is not trimmed", m.o.Name, bytes, m.o.Quota)
	}
	ctx, cancel := context.WithTimeout(ctx, roomWithin)
	defer cancel()
	if _, err := m.client.AlarmDisarm(ctx, alarm); err != nil {
		return fmt.Errorf("etcdlog: end the alarm of member %s: %w", m.o.Name, err)
	}
	m.o.Log.Warn("etcd was full, and has room again", "member", m.o.Name, "bytes", database.Size())
	return nil
}
