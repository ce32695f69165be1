package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pixd/cmd/journal"
	"pixd/wal"
)

// settle ends the traffic, and sends again what has no outcome yet. Each payout has happened once, and
// the scheme's book says so too.
func (l *traffic) settle() {
	l.t.Helper()
	l.stop()
	n := l.n
	n.whole()
	node := n.standby()
	n.waits("every payout has an outcome", func() (bool, string) {
		open := l.unanswered()
		for _, i := range open {
			l.pay(i, node, 0)
		}
		return len(open) == 0, fmt.Sprintf("%d have none: %v", len(open), l.failures())
	})
	l.repeated(node)
	want := 1_000_000_000 - 100*l.payouts.Load() + 500*l.payments.Load()
	n.waits("the balance is right", func() (bool, string) {
		balance, pending := l.s.balance(n.proc[node])
		return balance == want && pending == 0, fmt.Sprintf("%d and %d pending, want %d, after %d payouts and %d payments", balance, pending, want, l.payouts.Load(), l.payments.Load())
	})
	l.reads.settle(node)
	if report := n.proc[node].reported("audit"); !strings.Contains(report, "scheme's book  compared\ndifferences    0\n") {
		l.t.Error(report)
	}
	l.t.Logf("%d payouts and %d payments, each once; %d balances read, %d steps judged", l.payouts.Load(), l.payments.Load(), l.reads.answers.Load(), l.reads.steps.Load())
}

func (l *traffic) unanswered() (all []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.open {
		all = append(all, i)
	}
	return all
}

// repeated sends some of the payouts again, which must be the same transactions still.
func (l *traffic) repeated(node string) {
	l.t.Helper()
	count := l.payouts.Load()
	for i := int64(1); i <= count; i += 1 + count/200 {
		if !l.pay(i, node, 0) {
			l.t.Errorf("payout %d is not answered again: %v", i, l.failures())
		}
	}
}

// closed ends all nodes at once, verifies their journals, and holds them against each other.
func (n *nodes) closed() {
	n.t.Helper()
	for _, p := range n.proc {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			n.t.Fatal(err)
		}
	}
	for _, name := range n.names {
		p := n.proc[name]
		if p == nil {
			continue
		}
		began := time.Now()
		// The one that is left with the log when the others have gone may find nobody to hand it over to.
		if code := n.ended(name); code != 0 && (code != 3 || !strings.Contains(lastLine(p.words()), "a majority of the nodes has not answered")) {
			n.t.Errorf("node %s: exit %d after SIGTERM to all\n%s", name, code, p.words())
		}
		if said := p.words(); strings.Contains(said, "panic") || strings.Contains(said, schemeWord) || strings.Contains(said, token) {
			n.t.Error(said)
		}
		n.t.Logf("node %s ended after %v with status %d", name, time.Since(began).Round(time.Millisecond), p.cmd.ProcessState.ExitCode())
	}
	for _, name := range n.names {
		code, out, errs := run(n.t, nil, "journal", "verify", "--data-dir", n.folder(name))
		if code != 0 || !strings.HasSuffix(out, "\nok\n") {
			n.t.Errorf("verify of node %s: exit %d\n%s%s", name, code, out, errs)
		}
	}
	n.equal()
}

// equal compares the batches of all nodes' journals, each with its sum, as far as two have them.
func (n *nodes) equal() {
	n.t.Helper()
	stores, longest := map[string]*wal.Store{}, ""
	ends := map[string]uint64{}
	for _, name := range n.names {
		s, err := wal.Open(wal.Options{Dir: filepath.Join(n.folder(name), journal.Folder), ReadOnly: true})
		if err != nil {
			n.t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		stores[name] = s
		if ends[name], _, _ = s.Head(); longest == "" || ends[name] > ends[longest] {
			longest = name
		}
	}
	for name, s := range stores {
		for position := uint64(1); position <= ends[name] && name != longest; position++ {
			mine, _, err := s.Get(wal.BatchKey(position))
			theirs, _, otherErr := stores[longest].Get(wal.BatchKey(position))
			if err != nil || otherErr != nil || !bytes.Equal(mine, theirs) || len(mine) == 0 {
				n.t.Errorf("batch %d at node %s is %x, and at node %s %x (%v %v)", position, name, mine, longest, theirs, err, otherErr)
				break
			}
		}
	}
	n.t.Logf("journals end at %v", ends)
}
