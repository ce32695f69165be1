package journal

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestThreads checks that a record which does not follow its transaction's or case's earlier
// record is found, both for transactions in flight and for ended ones.
func TestThreads(t *testing.T) {
	s, err := wal.Open(wal.Options{Dir: Folder, FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	record := func(seq, prev uint64, id byte, k ledger.RecordKind, status pix.TxStatus) *ledger.Record {
		return &ledger.Record{Account: 7, Seq: seq, Kind: k, Body: ledger.Body{
			Prev: prev, Tx: &ledger.Transaction{ID: pix.TxID{id}, Kind: pix.TxPayout, Status: status},
		}}
	}
	aCase := func(seq, prev uint64, id byte, k ledger.RecordKind, status pix.CaseStatus, held, was pix.Amount) *ledger.Record {
		return &ledger.Record{Account: 7, Seq: seq, Kind: k, Body: ledger.Body{
			Prev: prev, HeldWas: was, Case: &ledger.Case{ID: pix.CaseID{id}, Ordinal: uint64(id), Status: status, Held: held},
		}}
	}
	good := []*ledger.Record{
		record(1, 0, 1, ledger.PayoutHeld, pix.StatusHeld),
		record(2, 0, 2, ledger.PayoutHeld, pix.StatusHeld),
		record(3, 1, 1, ledger.PayoutAccepted, pix.StatusAccepted),
		{Account: 7, Seq: 4, Kind: ledger.AnswerKept},
		record(5, 3, 1, ledger.PayoutSettled, pix.StatusSettled),
		record(6, 2, 2, ledger.PayoutRefused, pix.StatusRefused),
		record(7, 5, 1, ledger.PayoutReturned, pix.StatusSettled),
		aCase(8, 0, 1, ledger.CaseOpened, pix.CaseOpen, 50, 0),
		aCase(9, 8, 1, ledger.CaseWasDefended, pix.CaseDefended, 50, 50),
		{Account: 7, Seq: 10, Kind: ledger.AnswerKept},
		aCase(11, 9, 1, ledger.CaseWithdrawn, pix.CaseCancelled, 0, 50),
	}
	sum := uint64(0)
	e := &wal.Entry{Stream: 7}
	for _, r := range good {
		sealed := wal.Seal(sum, wal.Record{Stream: 7, Seq: r.Seq, Kind: uint8(r.Kind), Body: r.Encode()})
		sum = sealed.Sum
		e.Records = append(e.Records, sealed)
	}
	s.Append(e)
	if err := s.WriteRows(wal.Local); err != nil { // durable after the entries before it
		t.Fatal(err)
	}
	follow := func(last *ledger.Record) error {
		var all threads
		for _, r := range good {
			if err := all.follow(s, r); err != nil {
				t.Fatal(err)
			}
		}
		if last == nil {
			return nil
		}
		return all.follow(s, last)
	}
	if err := follow(nil); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		record *ledger.Record
		says   string
	}{
		"what was refused is accepted":        {record(12, 6, 2, ledger.PayoutAccepted, pix.StatusAccepted), "leads from"},
		"a stale copy of what was refused":    {record(12, 2, 2, ledger.PayoutAccepted, pix.StatusAccepted), "another has named"},
		"settled twice, from a stale copy":    {record(12, 3, 1, ledger.PayoutSettled, pix.StatusSettled), "another has named"},
		"a record about another transaction":  {record(12, 7, 2, ledger.PayoutReturned, pix.StatusSettled), "is not about"},
		"a record that is not there":          {record(13, 12, 1, ledger.PayoutReturned, pix.StatusSettled), "missing"},
		"an end without a beginning":          {record(12, 0, 3, ledger.PayoutSettled, pix.StatusSettled), "leads from"},
		"a record of none that names another": {&ledger.Record{Account: 7, Seq: 12, Kind: ledger.PayoutHeld, Body: ledger.Body{Prev: 4, Tx: &ledger.Transaction{ID: pix.TxID{4}, Status: pix.StatusHeld}}}, "is not about"},
		"a stale copy of a case":              {aCase(12, 9, 1, ledger.CaseWithdrawn, pix.CaseCancelled, 0, 50), "another has named"},
		"a case that was over":                {aCase(12, 11, 1, ledger.CaseWasDefended, pix.CaseDefended, 0, 0), "leads from"},
		"a record about another case":         {aCase(12, 11, 2, ledger.CaseReleased, pix.CaseCancelled, 0, 0), "is not about"},
		"another hold before":                 {aCase(12, 11, 1, ledger.CaseReleased, pix.CaseCancelled, 0, 7), "before it, and not"},
		"a case without a beginning":          {aCase(12, 0, 3, ledger.CaseWasDefended, pix.CaseDefended, 0, 0), "leads from"},
		"a case after a transaction":          {aCase(12, 7, 1, ledger.CaseReleased, pix.CaseCancelled, 0, 0), "is not about"},
	} {
		if err := follow(c.record); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var all threads
	for _, r := range good[:2] {
		if err := all.follow(s, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.follow(s, record(3, 2, 1, ledger.PayoutAccepted, pix.StatusAccepted)); err == nil || !strings.Contains(err.Error(), "which is record 1") {
		t.Errorf("in flight, and names another's record: %v", err)
	}
}

// TestVerifyTellsTheFirst checks that, of several goroutines' errors, the error that comes
// first in the order of writing is returned, with the counts up to that record.
func TestVerifyTellsTheFirst(t *testing.T) {
	walk, late, early := errors.New("walk"), errors.New("late"), errors.New("early")
	v := &verification{derivers: []*deriver{{belt: &belt{}}, {belt: &belt{}}, {belt: &belt{}}}}
	v.report.Records = 99
	if err := v.firstOf(walk); !errors.Is(err, walk) || v.report.Records != 99 {
		t.Error(err, v.report)
	}
	v.derivers[0].err, v.derivers[0].at = late, numberedRecord{order: 9, batches: 4}
	v.derivers[2].err, v.derivers[2].at = early, numberedRecord{order: 7, batches: 3}
	if err := v.firstOf(walk); !errors.Is(err, early) || v.report.Records != 6 || v.report.Batches != 3 {
		t.Error(err, v.report)
	}
}
