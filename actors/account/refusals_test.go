package account

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
	"pixd/wal/waltest"
)

// refusing are refusals on a journal in memory, with two accounts. Their Stamp is refusedAt.
type refusing struct {
	*Refusals
	t       *testing.T
	journal *waltest.InMemory
	alerts  []pix.AccountID // the accounts of the alerts that were raised
	rows    []pix.AccountID // the accounts of the alerts' rows
	writes  []int           // the numbers of deletions that were written at once
	failing bool            // deletions cannot be written
}

const refusedAt = pix.Millis(1772366400000)

func newRefusing(t *testing.T) *refusing {
	t.Helper()
	f := &refusing{t: t, journal: waltest.NewInMemory()}
	f.Refusals = &Refusals{
		Journal: f.journal, Alerts: f,
		Known: func(id pix.AccountID) bool { return id == 1 || id == 2 },
		Stamp: func() pix.Millis { return refusedAt },
	}
	if err := f.Load(f.journal.Scan); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *refusing) Row(id pix.AccountID, _ ledger.Alert, _ pix.Millis) wal.Op {
	f.rows = append(f.rows, id)
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey("alert"), Value: []byte{byte(id)}}
}
func (f *refusing) Raised(id pix.AccountID, _ ledger.Alert) { f.alerts = append(f.alerts, id) }
func (f *refusing) Raise(pix.AccountID, ledger.Alert)       { f.t.Error("an alert without its refusal") }

// refuse refuses a payment to an account.
func (f *refusing) refuse(endToEnd string, to pix.AccountID) {
	f.t.Helper()
	var got error
	f.Refuse(scheme.Notice{EndToEnd: endToEnd, Account: to}, func(err error) { got = err })
	if f.journal.Settle(); !errors.Is(got, scheme.ErrNoPayee) {
		f.t.Errorf("the scheme is told %v", got)
	}
}

// drop calls Drop at a time.
func (f *refusing) drop(now pix.Reading) error {
	f.writes = nil
	return f.Drop(now, func(ops ...wal.Op) error {
		f.writes = append(f.writes, len(ops))
		if f.failing {
			return errRefused
		}
		f.journal.Append(&wal.Entry{Ops: ops, Shared: true})
		f.journal.Settle()
		return nil
	})
}

// restarted returns what a new process reads.
func (f *refusing) restarted() *Refusals {
	f.t.Helper()
	r := new(Refusals)
	if err := r.Load(f.journal.Scan); err != nil {
		f.t.Fatal(err)
	}
	return r
}

// TestRefusalIsKeptForItsTime checks that a refused payment is known for exactly KeptRefusals, also after a
// restart, and for longer while engine time is doubted or the deletion cannot be written.
func TestRefusalIsKeptForItsTime(t *testing.T) {
	f := newRefusing(t)
	f.refuse("E1", 1)
	over := refusedAt + KeptRefusals
	for _, c := range []struct {
		name    string
		now     pix.Reading
		failing bool
		kept    bool
	}{
		{"at its time", pix.At(over), false, true},
		{"with a later stamp", pix.Reading{Time: over + 1, Clock: over}, false, true},
		{"under doubt", pix.Reading{Time: over + 1, Clock: over + 1, Doubted: true}, false, true},
		{"when nothing can be written", pix.At(over + 1), true, true},
		{"after its time", pix.At(over + 1), false, false},
	} {
		f.failing = c.failing
		if err := f.drop(c.now); errors.Is(err, errRefused) != c.failing {
			t.Errorf("%s: %v", c.name, err)
		}
		if f.Has("E1") != c.kept || f.restarted().Has("E1") != c.kept {
			t.Errorf("%s: known %v, after a restart %v", c.name, f.Has("E1"), f.restarted().Has("E1"))
		}
	}
	if f.Has("E2") {
		t.Error("a payment is known that was not refused")
	}
}

// TestManyRefusalsAreDropped checks that many old refusals are deleted by several entries, and
// that newer ones stay.
func TestManyRefusalsAreDropped(t *testing.T) {
	f := newRefusing(t)
	for n := range 2*droppedAtOnce + 1 {
		f.refuse(fmt.Sprint("E", n), 1)
	}
	f.Stamp = func() pix.Millis { return refusedAt + 1 }
	f.refuse("new", 1)
	if err := f.drop(pix.At(refusedAt + KeptRefusals + 1)); err != nil || fmt.Sprint(f.writes) != "[1000 1000 1]" {
		t.Errorf("deleted %v, %v", f.writes, err)
	}
	if again := f.restarted(); len(f.ids) != 1 || len(again.ids) != 1 || !f.Has("new") || !again.Has("new") {
		t.Errorf("%d are known, and after a restart %d", len(f.ids), len(again.ids))
	}
	if err := f.drop(pix.At(refusedAt + KeptRefusals + 1)); err != nil || f.writes != nil {
		t.Errorf("deleted again: %v, %v", f.writes, err)
	}
}

// TestRefusalNamesAnAccount checks that the alert of a refused payment names the account that
// the scheme named, if there is such an account, and none otherwise.
func TestRefusalNamesAnAccount(t *testing.T) {
	f := newRefusing(t)
	f.refuse("E1", 2)
	f.refuse("E2", 3) // there is no such account
	f.refuse("E3", 0)
	if got := fmt.Sprint(uint64(f.rows[0]), uint64(f.rows[1]), uint64(f.rows[2])); got != "2 0 0" || len(f.rows) != 3 {
		t.Errorf("the rows name %s", got)
	}
	if got := fmt.Sprint(uint64(f.alerts[0]), uint64(f.alerts[1]), uint64(f.alerts[2])); got != "2 0 0" || len(f.alerts) != 3 {
		t.Errorf("the alerts name %s", got)
	}
}

// TestLoadOfDamagedRefusal checks that a refusal whose time cannot be read is an error which names
// the payment.
func TestLoadOfDamagedRefusal(t *testing.T) {
	for _, value := range []string{"", "1234567", "123456789"} {
		j := waltest.NewInMemory()
		j.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: wal.MetaKey(metaRefused + "E1"), Value: []byte(value)}}, Shared: true})
		j.Settle()
		if err := new(Refusals).Load(j.Scan); err == nil || !strings.Contains(err.Error(), "E1") {
			t.Errorf("a value of %d bytes: %v", len(value), err)
		}
	}
}

// noJournal is a journal that refuses every entry.
type noJournal struct{}

func (noJournal) Append(e *wal.Entry) wal.Ticket {
	for _, o := range e.Out {
		o.Release(wal.ErrClosed)
	}
	return 0
}

// TestRefusalCountsOnceDurable checks that a refusal is known only once it is durable: not while it
// is written, nor where it could not be written.
func TestRefusalCountsOnceDurable(t *testing.T) {
	f := newRefusing(t)
	waiting := waltest.NewInMemory()
	for name, j := range map[string]interface {
		Append(e *wal.Entry) wal.Ticket
	}{"waits": waiting, "is refused": noJournal{}} {
		f.Journal = j
		outcome := errPending
		f.Refuse(scheme.Notice{EndToEnd: name}, func(err error) { outcome = err })
		if f.Has(name) || errors.Is(outcome, scheme.ErrNoPayee) {
			t.Errorf("an entry that %s: known %v, answered %v", name, f.Has(name), outcome)
		}
	}
	if waiting.Settle(); !f.Has("waits") {
		t.Error("durable, and not known")
	}
}
