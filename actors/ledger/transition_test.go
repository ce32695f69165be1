package ledger

import (
	"os"
	"strings"
	"testing"
)

// TestTransitions checks that every record kind about a transaction has its transition in
// the table and in docs/formats.md, and that only transitions in the table are legal.
func TestTransitions(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for k := range RecordKind(len(kinds)) {
		s := k.row()
		if about := s.entity == entityTransaction; about != (s.from != nil) || about != (s.to != 0) {
			t.Errorf("%v: about a transaction %v, from %v to %v", k, about, s.from, s.to)
		}
		if s.entity != entityTransaction {
			continue
		}
		from := make([]string, len(s.from))
		legal := map[TxStatus]bool{}
		for i, f := range s.from {
			legal[f] = true
			if from[i] = f.String(); f == 0 {
				from[i] = "nothing"
			}
		}
		if row := "| `" + k.String() + "` | " + strings.Join(from, ", ") + " | " + s.to.String() + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/formats.md has no row %s", row)
		}
		for from := TxStatus(0); from <= StatusSending; from++ {
			for to := StatusActive; to <= StatusSending; to++ {
				if err := transition(k, from, to); (err == nil) != (legal[from] && to == s.to) {
					t.Errorf("%v from %v to %v: %v", k, from, to, err)
				}
			}
		}
	}
}

// TestFollows checks that a record must name the previous record about the same
// transaction.
func TestFollows(t *testing.T) {
	held := func() *Record {
		return &Record{Account: 7, Seq: 5, Kind: PayoutHeld, Body: Body{Tx: &Transaction{ID: TxID{1}, Status: StatusHeld}}}
	}
	accepted := func() *Record {
		return &Record{Account: 7, Seq: 9, Kind: PayoutAccepted, Body: Body{Prev: 5, Tx: &Transaction{ID: TxID{1}, Status: StatusAccepted}}}
	}
	if err := held().Follows(nil); err != nil {
		t.Error(err)
	}
	if err := accepted().Follows(held()); err != nil {
		t.Error(err)
	}
	if err := (&Record{Kind: AnswerKept}).Follows(nil); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(r, before *Record){
		"another transaction":  func(_, before *Record) { before.Tx.ID = TxID{2} },
		"another record":       func(_, before *Record) { before.Seq = 4 },
		"another account":      func(_, before *Record) { before.Account = 8 },
		"no transaction":       func(_, before *Record) { before.Tx = nil },
		"an illegal status":    func(_, before *Record) { before.Tx.Status = StatusRefused },
		"another outcome":      func(r, _ *Record) { r.Tx.Status = StatusSettled },
		"a second beginning":   func(r, _ *Record) { r.Kind, r.Tx.Status = PayoutHeld, StatusHeld },
		"no record before it":  func(r, _ *Record) { r.Prev = 0 },
		"a record of no place": func(r, _ *Record) { r.Prev = 4 },
	} {
		r, before := accepted(), held()
		spoil(r, before)
		if err := r.Follows(before); err == nil {
			t.Errorf("%s: follows", name)
		}
	}
	if err := accepted().Follows(nil); err == nil {
		t.Error("a record that names another follows nothing")
	}
}

// TestStaleCopy checks that a decision on an outdated copy of a transaction panics instead
// of making a record.
func TestStaleCopy(t *testing.T) {
	a := &Account{ID: 7, Seq: 9, Time: 10}
	for name, was := range map[string]TxStatus{"refused": StatusRefused, "settled": StatusSettled, "rejected": StatusRejected} {
		tx := &Transaction{ID: TxID{1}, Kind: TxPayout, Status: was, EndToEnd: "E1"}
		tx.standsAt(9)
		tx.Status = StatusHeld // a copy whose status differs from the newest record
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			a.Decide(ResolveTransfer{ID: tx.ID, EndToEnd: "E1", Result: TransferIsAccepted}, Facts{Tx: tx}, Stamp{Reading: At(10)})
		}()
	}
}
