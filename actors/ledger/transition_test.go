package ledger

import (
	"os"
	"strings"
	"testing"

	"pixd/actors/pix"
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
		legal := map[pix.TxStatus]bool{}
		for i, f := range s.from {
			legal[f] = true
			if from[i] = f.String(); f == 0 {
				from[i] = "nothing"
			}
		}
		if row := "| `" + k.String() + "` | " + strings.Join(from, ", ") + " | " + s.to.String() + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/formats.md has no row %s", row)
		}
		for from := pix.TxStatus(0); from <= pix.StatusSending; from++ {
			for to := pix.StatusActive; to <= pix.StatusSending; to++ {
				if err := transition(k, from, to); (err == nil) != (legal[from] && to == s.to) {
					t.Errorf("%v from %v to %v: %v", k, from, to, err)
				}
			}
		}
	}
}

// TestCaseTransitions checks that every record kind about a case has its transition in the
// table and in docs/formats.md, and that only transitions in the table are legal.
func TestCaseTransitions(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for k := range RecordKind(len(kinds)) {
		s := k.row()
		if about := s.entity == entityCase; about != (s.cases != nil) || !about && s.caseTo != 0 {
			t.Errorf("%v: about a case %v, from %v to %v", k, about, s.cases, s.caseTo)
		}
		if s.entity != entityCase {
			if err := caseTransition(k, pix.CaseOpen, pix.CaseOpen); err == nil {
				t.Errorf("%v is about no case, and changes one", k)
			}
			continue
		}
		if err := transition(k, pix.StatusHeld, pix.StatusHeld); err == nil {
			t.Errorf("%v is about no transaction, and changes one", k)
		}
		from := make([]string, len(s.cases))
		legal := map[pix.CaseStatus]bool{}
		for i, f := range s.cases {
			legal[f] = true
			if from[i] = f.String(); f == 0 {
				from[i] = "nothing"
			}
		}
		becomes := s.caseTo.String()
		if s.caseTo == 0 {
			becomes = "the same"
		}
		if row := "| `" + k.String() + "` | " + strings.Join(from, ", ") + " | " + becomes + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/formats.md has no row %s", row)
		}
		for from := pix.CaseStatus(0); from <= pix.CaseCancelled; from++ {
			for to := pix.CaseOpen; to <= pix.CaseCancelled; to++ {
				want := legal[from] && (to == s.caseTo || s.caseTo == 0 && to == from)
				if err := caseTransition(k, from, to); (err == nil) != want {
					t.Errorf("%v from %q to %v: %v", k, from, to, err)
				}
			}
		}
	}
}

// TestFollows checks that a record must name the previous record about the same
// transaction.
func TestFollows(t *testing.T) {
	held := func() *Record {
		return &Record{Account: 7, Seq: 5, Kind: PayoutHeld, Body: Body{Tx: &Transaction{ID: pix.TxID{1}, Status: pix.StatusHeld}}}
	}
	accepted := func() *Record {
		return &Record{Account: 7, Seq: 9, Kind: PayoutAccepted, Body: Body{Prev: 5, Tx: &Transaction{ID: pix.TxID{1}, Status: pix.StatusAccepted}}}
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
		"another transaction":  func(_, before *Record) { before.Tx.ID = pix.TxID{2} },
		"another record":       func(_, before *Record) { before.Seq = 4 },
		"another account":      func(_, before *Record) { before.Account = 8 },
		"no transaction":       func(_, before *Record) { before.Tx = nil },
		"an illegal status":    func(_, before *Record) { before.Tx.Status = pix.StatusRefused },
		"another outcome":      func(r, _ *Record) { r.Tx.Status = pix.StatusSettled },
		"a second beginning":   func(r, _ *Record) { r.Kind, r.Tx.Status = PayoutHeld, pix.StatusHeld },
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

// TestCaseFollows checks that a record about a case must name the previous record about the
// same case, and what the case held, what was owed for it and when it was due before.
func TestCaseFollows(t *testing.T) {
	opened := func() *Record {
		c := &Case{ID: pix.CaseID{1}, Ordinal: 3, Status: pix.CaseClosed, Held: 50, DueAt: 70}
		c.standsAt(5)
		return &Record{Account: 7, Seq: 5, Kind: CaseWasClosed, Body: Body{Prev: 2, Case: c}}
	}
	later := func() *Record {
		c := &Case{ID: pix.CaseID{1}, Ordinal: 3, Status: pix.CaseClosed}
		return &Record{Account: 7, Seq: 9, Kind: CaseReleased, Body: Body{Prev: 5, HeldWas: 50, OwedWas: 50, DueWas: 70, Case: c}}
	}
	first := func() *Record {
		return &Record{Account: 7, Seq: 2, Kind: CaseOpened, Body: Body{Case: &Case{ID: pix.CaseID{1}, Ordinal: 3, Status: pix.CaseOpen, Held: 50}}}
	}
	if err := first().Follows(nil); err != nil {
		t.Error(err)
	}
	if err := later().Follows(opened()); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(r, before *Record){
		"another case":         func(_, before *Record) { before.Case.ID = pix.CaseID{2} },
		"another ordinal":      func(_, before *Record) { before.Case.Ordinal = 4 },
		"another record":       func(_, before *Record) { before.Seq = 4 },
		"another account":      func(_, before *Record) { before.Account = 8 },
		"no case":              func(_, before *Record) { before.Case = nil },
		"an illegal status":    func(_, before *Record) { before.Case.Status = pix.CaseOpen; before.Case.standsAt(5) },
		"another outcome":      func(r, _ *Record) { r.Case.Status = pix.CaseCancelled },
		"another hold before":  func(r, _ *Record) { r.HeldWas = 49 },
		"no hold before":       func(r, _ *Record) { r.HeldWas = 0 },
		"another debt before":  func(r, _ *Record) { r.OwedWas = 49 },
		"no debt before":       func(r, _ *Record) { r.OwedWas = 0 },
		"another instant":      func(r, _ *Record) { r.DueWas = 71 },
		"no instant before":    func(r, _ *Record) { r.DueWas = 0 },
		"a second beginning":   func(r, _ *Record) { r.Kind, r.Case.Status = CaseOpened, pix.CaseOpen },
		"no record before it":  func(r, _ *Record) { r.Prev = 0 },
		"a record of no place": func(r, _ *Record) { r.Prev = 4 },
	} {
		r, before := later(), opened()
		spoil(r, before)
		if err := r.Follows(before); err == nil {
			t.Errorf("%s: follows", name)
		}
	}
	if err := later().Follows(nil); err == nil {
		t.Error("a record that names another follows nothing")
	}
	for name, spoil := range map[string]func(r *Record){
		"a hold":      func(r *Record) { r.HeldWas = 1 },
		"a debt":      func(r *Record) { r.OwedWas = 1 },
		"an instant":  func(r *Record) { r.DueWas = 1 },
		"another end": func(r *Record) { r.Case.Status = pix.CaseDefended },
	} {
		r := first()
		if spoil(r); r.Follows(nil) == nil {
			t.Errorf("%s before the first record: follows", name)
		}
	}
}

// TestStaleCopy checks that a decision on an outdated copy of a transaction panics instead
// of making a record.
func TestStaleCopy(t *testing.T) {
	a := &Account{ID: 7, Seq: 9, Time: 10}
	for name, was := range map[string]pix.TxStatus{"refused": pix.StatusRefused, "settled": pix.StatusSettled, "rejected": pix.StatusRejected} {
		tx := &Transaction{ID: pix.TxID{1}, Kind: pix.TxPayout, Status: was, EndToEnd: "E1"}
		tx.standsAt(9)
		tx.Status = pix.StatusHeld // a copy whose status differs from the newest record
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			a.Decide(Facts{decider: &outcome{ResolveTransfer: ResolveTransfer{ID: tx.ID, EndToEnd: "E1", Result: TransferIsAccepted}, tx: tx}}, Stamp{Reading: pix.At(10)})
		}()
	}
}
