package audit

import (
	"testing"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestReport checks the sums over accounts in a report, an account's line, and what it says of a difference.
func TestReport(t *testing.T) {
	one, other := returning(t), whole(t)
	r, accounts := NewReport(noon), []*Account{one.audit(), NewAccount(8)}
	for i := range other.records {
		accounts[1].Record(&other.records[i])
	}
	var want ReportedAccount
	for _, a := range accounts {
		r.addAccount(a)
		line := &r.Rows[len(r.Rows)-1]
		if line.ID != a.ID.String() || line.Balance != a.Totals.Balance || line.Pending != a.Totals.Held || line.MEDHeld != a.Totals.MEDHeld ||
			line.Cases != a.Cases() || line.InFlight != a.InFlight() ||
			(scheme.Sums{Sent: line.Sent, Received: line.Received, ReturnedBy: line.ReturnedBy, ReturnedTo: line.ReturnedTo}) != a.Sums {
			t.Errorf("%+v of %+v", line, a)
		}
		want.Balance += line.Balance
		want.Pending += line.Pending
		want.MEDHeld += line.MEDHeld
		want.Cases += line.Cases
		want.InFlight += line.InFlight
	}
	if r.At != noon.String() || r.Accounts != 2 || r.Records != uint64(len(one.records)+len(other.records)) || r.Cases != want.Cases || r.InFlight != want.InFlight ||
		r.Balance.Int64() != int64(want.Balance) || r.Pending.Int64() != int64(want.Pending) || r.MEDHeld.Int64() != int64(want.MEDHeld) || want.MEDHeld == 0 || want.Cases == 0 {
		t.Errorf("%+v, want %+v", r, want)
	}
	r.AddDifferences([]Difference{
		{Account: 7, Kind: KindOpen, Transaction: "PIXOUT", Message: "a"},
		{Account: 7, Kind: KindBook, Message: "b", Field: "sent", Engine: 1, Scheme: 2},
		{Account: 8, Kind: KindDamage, Message: "c", Field: "x", Engine: 3},
	})
	d := r.Finish().Differences
	if len(d) != 3 || d[0].Transaction == nil || *d[0].Transaction != "PIXOUT" || d[0].Field != nil || d[0].Engine != nil || d[0].Scheme != nil {
		t.Fatalf("%+v", d)
	}
	if d[1].Transaction != nil || *d[1].Field != "sent" || *d[1].Engine != 1 || *d[1].Scheme != 2 || d[2].Transaction != nil || d[2].Field != nil || d[2].Engine != nil || d[2].Scheme != nil {
		t.Errorf("%+v", d)
	}
	for i, want := range []ReportedDifference{
		{Account: pix.AccountID(7).String(), Kind: KindOpen, Message: "a"},
		{Account: pix.AccountID(7).String(), Kind: KindBook, Message: "b"},
		{Account: pix.AccountID(8).String(), Kind: KindDamage, Message: "c"},
	} {
		if d[i].Account != want.Account || d[i].Kind != want.Kind || d[i].Message != want.Message {
			t.Errorf("%+v, want %+v", d[i], want)
		}
	}
	if r.Rows[0].Differences != 2 || r.Rows[1].Differences != 1 || r.LeftOut != 0 {
		t.Errorf("%+v", r)
	}
}

// TestReportHasWhatIsFound checks that a report has the differences that were found in an account.
func TestReportHasWhatIsFound(t *testing.T) {
	l := returning(t)
	delete(l.rows, l.row('u'))
	a, r := l.audit(), NewReport(noon)
	r.addAccount(a)
	if n := len(r.Finish().Differences); n == 0 || n != len(a.Found()) || r.Rows[0].Differences != n {
		t.Errorf("%+v, found %+v", r, a.Found())
	}
}

// TestReportedRows checks which accounts have a line: each with a difference, and 1,000 others.
func TestReportedRows(t *testing.T) {
	for others, left := range map[int]int{0: 0, reportedRows - 1: 0, reportedRows: 0, reportedRows + 1: 1, 3 * reportedRows: 2 * reportedRows} {
		r := NewReport(noon)
		for n := range others + 2 {
			r.addAccount(NewAccount(pix.AccountID(n + 1)))
		}
		first, last := pix.AccountID(1), pix.AccountID(others+2)
		r.AddDifferences([]Difference{{Account: first}, {Account: last}, {Account: last}})
		r.Finish()
		if n := len(r.Rows); n != others-left+2 || r.LeftOut != left || r.Accounts != others+2 {
			t.Fatalf("%d others: %d lines, %d left out of %d", others, n, r.LeftOut, r.Accounts)
		}
		if a, b := r.Rows[0], r.Rows[len(r.Rows)-1]; a.ID != first.String() || a.Differences != 1 || b.ID != last.String() || b.Differences != 2 {
			t.Errorf("%d others: %+v and %+v", others, a, b)
		}
	}
}
