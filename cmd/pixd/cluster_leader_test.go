package main

import (
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// killsLeader kills the node whose member of etcd leads while another node is the owner.
func (f *faults) killsLeader() {
	f.n.flags = append(f.n.flags, "--log-level", "debug")
	d := f.n.divide()
	f.begin()
	owner, leader := f.apart(d)
	f.l.flows(faultClients)
	f.l.goTo(f.others(leader)...)
	f.l.flows(faultClients)
	f.l.mark()
	f.n.end(leader, syscall.SIGKILL)
	f.l.flows(faultClients)
	now := f.n.owner()
	f.l.flows(faultClients)
	f.took("node " + owner + " is the owner, and " + leader + ", where etcd leads, was killed")
	f.Logf("the owner is %s afterwards", now)
	f.l.goTo(f.n.names...)
	f.n.start(leader)
	if now != owner { // it was without the log for too long
		if code := f.n.ended(owner); code != 3 {
			f.Errorf("the former owner: exit %d", code)
		}
		f.n.start(owner)
	}
	f.l.flows(faultClients)
}

// apart has etcd led at another node than the owner: the others do not hear the owner's member until
// they have elected another leader.
func (f *faults) apart(d *droppers) (owner, leader string) {
	f.Helper()
	for range 10 {
		owner = f.n.owner()
		was := f.n.leader()
		out, _ := d.ways(owner, true)
		if was == owner {
			d.cut(out...)
		}
		f.n.waits("another member of etcd leads", func() (bool, string) { leader = f.n.leader(); return leader != owner, leader })
		d.heal()
		time.Sleep(4 * time.Second) // a node that takes over does it within 2, and its member begins to lead 2 later
		f.n.waits("the former owner ends, if there is a new one", func() (bool, string) {
			for name, p := range f.n.proc {
				if len(p.exited) > 0 {
					f.n.ended(name)
					f.n.start(name)
				}
			}
			s, err := f.n.status(f.n.names[0])
			return err == nil && s.Owner != nil && !slices.Contains([]string{"gone"}, roles(s)[*s.Owner]), ""
		})
		if f.n.owner() == owner && f.n.leader() != owner {
			return owner, f.n.leader()
		}
	}
	f.Skip("etcd's leader and the owner are at the same node again and again")
	return "", ""
}

var becameLeader = regexp.MustCompile(`became leader at term (\d+)`)

// leader returns the node whose member of etcd was elected last.
func (n *nodes) leader() (leader string) {
	newest := 0
	for name, p := range n.proc {
		for _, m := range becameLeader.FindAllStringSubmatch(p.words(), -1) {
			if term, err := strconv.Atoi(m[1]); err == nil && term > newest {
				newest, leader = term, name
			}
		}
	}
	return leader
}
