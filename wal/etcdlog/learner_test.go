package etcdlog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"pixd/wal/waltest"
)

// TestLearnerIsNoMemberAnyMore adds a member that does not count for the majority yet. Where its start is ended meanwhile, that
// is all that the start says; and where the member was removed, the start says so.
func TestLearnerIsNoMemberAnyMore(t *testing.T) {
	t.Parallel()
	a := start(t, options(t, 1))[0]
	at := "http://" + waltest.FreePorts(t, 1, 1)[0]
	for err := a.AddMember(t.Context(), "z", at); err != nil; err = a.AddMember(patient(t), "z", at) {
		time.Sleep(50 * time.Millisecond) // etcd changes no members in its first seconds
	}
	o := MemberOptions{Name: "z", Dir: t.TempDir(), Join: true, Peers: map[string]string{"z": at, a.o.Name: a.o.Peers[a.o.Name]}, Log: logger()}
	o.fill()
	back := &putBack{found: make(chan struct{})}
	config, err := o.config(back)
	if err != nil {
		t.Fatal(err)
	}
	etcd, err := begin(t.Context(), config, back)
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	m := &Member{etcd: etcd, o: o}
	if err := m.ready(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := m.vote(ended, back); errors.Unwrap(err) != context.Canceled { //nolint:errorlint // joined with another it would be a failure
		t.Error(err)
	}
	if err := a.RemoveMember(t.Context(), Peer{Name: "z"}); err != nil {
		t.Fatal(err)
	}
	if err := m.vote(patient(t), back); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Error(err)
	}
}

// TestMayBeAdded checks that only an answer with which etcd refuses a new member says that it was not added.
func TestMayBeAdded(t *testing.T) {
	t.Parallel()
	all := options(t, 1)
	all[0].Timeout = time.Minute // a change that takes long may have been made
	a := start(t, all)[0]
	at := "http://" + waltest.FreePorts(t, 1, 1)[0]
	for err := a.AddMember(t.Context(), "y", at); err != nil; err = a.AddMember(patient(t), "y", at) {
		if errors.Is(err, ErrMayBeAdded) { // etcd changes no members in its first seconds
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := a.AddMember(t.Context(), "z", "http://"+waltest.FreePorts(t, 1, 1)[0]); err == nil || errors.Is(err, ErrMayBeAdded) {
		t.Errorf("a second learner: %v", err)
	}
	for _, err := range []error{context.DeadlineExceeded, context.Canceled, rpctypes.ErrPeerURLExist, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail} {
		if is := mayBeAdded(err); !errors.Is(is, ErrMayBeAdded) || !errors.Is(is, err) {
			t.Error(is)
		}
	}
}
