package history

import (
	"errors"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/wal"
)

// slowView is a view that takes a while for each row of a scan.
type slowView struct {
	View
	pause time.Duration
}

func (v slowView) ScanBack(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	n := 0
	return v.View.ScanBack(lo, hi, func(k, value []byte) (bool, error) {
		if n++; n%1000 == 0 {
			time.Sleep(v.pause)
		}
		return fn(k, value)
	})
}

type slowStore struct {
	store
	pause time.Duration
}

func (s slowStore) Look(stream wal.Stream, read func(View) error) error {
	return s.store.Look(stream, func(v View) error { return read(slowView{v, s.pause}) })
}

// TestScansAreBounded checks that reads which must look at many rows run four at once, that one
// which takes too long ends with ErrTooLong, whether it waits or reads, and that other reads go
// on meanwhile.
func TestScansAreBounded(t *testing.T) {
	b := newBook(t)
	for i := range 3000 {
		b.now++
		b.received(1, payment(i), 10)
	}
	h := Over(slowStore{store{b.store}, 30 * time.Millisecond})
	filtered := func() error {
		_, err := h.Statement(1, ledger.Filter{Type: ledger.FilterTED}, ledger.Page{Number: 1, Size: 5})
		return err
	}
	if err := filtered(); err != nil {
		t.Errorf("within its time: %v", err)
	}
	if cap(h.scans) != 4 || h.scanTime != 5*time.Second {
		t.Errorf("%d at once for %v", cap(h.scans), h.scanTime)
	}
	h.scanTime = 50 * time.Millisecond
	if err := filtered(); !errors.Is(err, ledger.ErrTooLong) {
		t.Errorf("a slow read: %v", err)
	}
	for range scansAtOnce {
		h.scans <- struct{}{}
	}
	began := time.Now()
	if err := filtered(); !errors.Is(err, ledger.ErrTooLong) || time.Since(began) < h.scanTime {
		t.Errorf("a fifth read: %v", err)
	}
	if _, err := h.Cases(1, ledger.CaseOpen, 1, 5); !errors.Is(err, ledger.ErrTooLong) {
		t.Errorf("a fifth read, of cases: %v", err)
	}
	if _, err := h.Cases(1, 0, 1, 5); err != nil {
		t.Errorf("all cases: %v", err)
	}
	if _, err := h.Reference(1, "order-1"); !errors.Is(err, ledger.ErrTooLong) {
		t.Errorf("a fifth read, by external id: %v", err)
	}
	if all, err := h.Statement(1, ledger.Filter{From: noon}, ledger.Page{Number: 200, Size: 5}); err != nil || len(all) != 5 {
		t.Errorf("a page within dates: %d items (%v)", len(all), err)
	}
	<-h.scans
	h.scanTime = 5 * time.Second
	if err := filtered(); err != nil {
		t.Errorf("a fourth read: %v", err)
	}
}
