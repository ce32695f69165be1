package registry

import (
	"errors"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
	"pixd/wal/waltest"
)

// refusing is a journal that, while on is true, refuses every entry with records.
type refusing struct {
	*waltest.InMemory
	on bool
}

// Append implements Journal.
func (r *refusing) Append(e *wal.Entry) wal.Ticket {
	if !r.on || len(e.Records) == 0 {
		t := r.InMemory.Append(e)
		r.Settle()
		return t
	}
	for _, o := range e.Out {
		o.Release(errors.New("refused"))
	}
	return 0
}

// TestBehindForGood checks that, after the journal refused an entry, the registry answers
// every later change with an error.
func TestBehindForGood(t *testing.T) {
	j := &refusing{InMemory: waltest.NewInMemory()}
	g, err := Open(j, func() pix.Millis { return 1772366400000 })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.RegisterAccount(7, true, ledger.Settings{}, pix.Key{Type: pix.KeyEVP, Value: "k"}); err != nil {
		t.Fatal(err)
	}
	j.on = true
	for range 4 {
		if ok, err := g.ReserveEndToEnd(7, "E99999004202603011200OwnOwnOwn01"); ok || err == nil {
			t.Errorf("reserved: %v %v", ok, err)
		}
		if err := g.SetActive(7, false); err == nil {
			t.Error("turned off, and nothing is written")
		}
	}
}
