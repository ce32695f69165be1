package transfer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// scripted is a scheme that answers each call with the next line of a script, and keeps the
// names of the calls. The line "silence" makes a call wait until its context ends.
type scripted struct {
	t     *testing.T
	lines []string
	calls []string
	paid  []scheme.Payment
}

var errLost = errors.New("connection reset")

func (s *scripted) next(ctx context.Context, call string) (Reply, error) {
	s.calls = append(s.calls, call)
	if len(s.lines) == 0 {
		s.t.Fatalf("a %s too many after %v", call, s.calls)
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	if line == "silence" {
		<-ctx.Done()
		return Reply{}, ctx.Err()
	}
	r := reply(s.t, line)
	switch {
	case r.Refused != nil:
		return r, errors.Join(errors.New("the provider said"), r.Refused) // a scheme may wrap its refusal in another error
	case r.Failed:
		return r, errLost
	}
	return r, nil
}

func (s *scripted) RegisterKey(context.Context, pix.Key, pix.AccountID) error {
	s.t.Error("a payout registers no key")
	return nil
}

func (s *scripted) Returns(context.Context, pix.AccountID, string) ([]ledger.Returned, error) {
	s.t.Error("a payout lists no returns")
	return nil, nil
}

func (s *scripted) Movements(context.Context, pix.Millis, string, int) (scheme.MovementPage, error) {
	s.t.Error("a payout lists no movements")
	return scheme.MovementPage{}, nil
}

func (s *scripted) DeregisterKey(context.Context, pix.Key, pix.AccountID) error {
	s.t.Error("a payout deregisters no key")
	return nil
}

func (s *scripted) Book(context.Context) (scheme.Book, error) {
	s.t.Error("a payout reads no book")
	return scheme.Book{}, nil
}

func (s *scripted) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	want := scheme.Refund{
		Tx: refunding.Tx.ID, Account: 7, EndToEnd: refunding.Tx.EndToEnd, Original: "E60701190202603011159abcdefghijk", Amount: 100, Reason: "AM09", Description: "sorry",
	}
	if r != want {
		s.t.Errorf("returned %+v", r)
	}
	reply, err := s.next(ctx, "return")
	return reply.State, err
}

func (s *scripted) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	if q != (scheme.Query{Account: 7, Tx: job.Tx.ID, EndToEnd: job.Tx.EndToEnd, Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}}) {
		s.t.Errorf("looked up %+v", q)
	}
	r, err := s.next(ctx, "lookup")
	return r.Owner, err
}

func (s *scripted) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	s.paid = append(s.paid, p)
	r, err := s.next(ctx, "submit")
	return r.State, err
}

func (s *scripted) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	payout, refund := tx == job.Tx.ID && endToEnd == job.Tx.EndToEnd, tx == refunding.Tx.ID && endToEnd == refunding.Tx.EndToEnd
	if !payout && !refund {
		s.t.Errorf("asked for %v %s", tx, endToEnd)
	}
	r, err := s.next(ctx, "ask")
	return r.State, err
}

// whole is the payment that every call of Submit must be given.
var whole = scheme.Payment{
	Tx: pix.TxID{1}, Account: 7, EndToEnd: "E99999004202603011200abcdefghijk", Amount: 100,
	Key:           pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"},
	RecipientISPB: "18236120", Description: "coffee", Purpose: "rent",
}

// TestCarry checks, for each script of the scheme's answers, which calls Carry makes and
// what it reports.
func TestCarry(t *testing.T) {
	inBothWays(t, testCarry)
}

// inBothWays runs a test with Carry, and with the same job in lanes.
func inBothWays(t *testing.T, test func(t *testing.T, carries func(scheme.Scheme, Job) ledger.ResolveTransfer)) {
	const timeout = 250 * time.Millisecond
	t.Run("alone", func(t *testing.T) {
		test(t, func(s scheme.Scheme, j Job) ledger.ResolveTransfer {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			return Carry(ctx, s, j)
		})
	})
	t.Run("in lanes", func(t *testing.T) {
		test(t, func(s scheme.Scheme, j Job) ledger.ResolveTransfer {
			l := newLanes()
			defer func() {
				if got := l.Counts(); got.Payments.InUse+got.Questions.InUse+got.Repeats != 0 {
					t.Errorf("after the report: %+v", got)
				}
			}()
			return l.carry(t.Context(), s, &j, timeout)
		})
	})
}

func testCarry(t *testing.T, carries func(scheme.Scheme, Job) ledger.ResolveTransfer) {
	for _, c := range []struct {
		doubt       bool
		lines, call string
		report      string
	}{
		{false, "owner/settled", "lookup submit", "settled to Ana"},
		{false, "owner/pending", "lookup submit", "accepted to Ana"},
		{false, "owner/rejected DUPL", "lookup submit", "rejected DUPL to Ana"},
		{false, "refused dict_key_not_found", "lookup", "refused dict_key_not_found"},
		{false, "failed", "lookup", "refused dict_lookup_failed"},
		{false, "silence", "lookup", "refused dict_lookup_failed"},
		{false, "owner/refused provider_rejected", "lookup submit", "refused provider_rejected to Ana"},
		{false, "owner/silence", "lookup submit", "accepted in doubt to Ana"},
		{false, "owner/failed/settled", "lookup submit ask", "settled to Ana"},
		{false, "owner/failed/unknown/settled", "lookup submit ask submit", "settled to Ana"},
		{false, "owner/failed/unknown/refused provider_rejected", "lookup submit ask submit", "accepted in doubt to Ana"},
		{false, "owner/failed/silence", "lookup submit ask", "accepted in doubt to Ana"},
		{true, "settled", "ask", "settled"},
		{true, "unknown/owner/pending", "ask lookup submit", "accepted to Ana"},
		{true, "unknown/refused dict_key_not_found", "ask lookup", "accepted in doubt"},
		{true, "unknown/failed", "ask lookup", "accepted in doubt"},
		{true, "silence", "ask", "accepted in doubt"},
	} {
		s := &scripted{t: t, lines: strings.Split(c.lines, "/")}
		j := job
		if c.doubt {
			j.Goal = ledger.GoalResume
		}
		out := carries(s, j)
		if got := strings.Join(s.calls, " "); got != c.call || said(&out) != c.report || len(s.lines) > 0 {
			t.Errorf("%s: called %q, want %q; reported %q, want %q", c.lines, got, c.call, said(&out), c.report)
		}
		for _, p := range s.paid {
			if p != whole {
				t.Errorf("%s: submitted %+v", c.lines, p)
			}
		}
	}
}

// TestCarryRefund checks the same for refunds, which are sent with Return and need no lookup.
func TestCarryRefund(t *testing.T) { inBothWays(t, testCarryRefund) }

func testCarryRefund(t *testing.T, carries func(scheme.Scheme, Job) ledger.ResolveTransfer) {
	for _, c := range []struct {
		goal                ledger.Goal
		lines, call, report string
	}{
		{ledger.GoalPay, "settled", "return", "settled to Ana"},
		{ledger.GoalPay, "refused provider_rejected", "return", "refused provider_rejected to Ana"},
		{ledger.GoalPay, "failed/unknown/pending", "return ask return", "accepted to Ana"},
		{ledger.GoalPay, "silence", "return", "accepted in doubt to Ana"},
		{ledger.GoalClear, "unknown/settled", "ask return", "settled to Ana"},
	} {
		s := &scripted{t: t, lines: strings.Split(c.lines, "/")}
		j := refunding
		j.Goal = c.goal
		out := carries(s, j)
		if got := strings.Join(s.calls, " "); got != c.call || said(&out) != c.report || len(s.lines) > 0 {
			t.Errorf("%s: called %q, want %q; reported %q, want %q", c.lines, got, c.call, said(&out), c.report)
		}
	}
}

// TestCarryWaits checks that, while a payout is in doubt, Carry waits for the duration
// pause before it asks the scheme again.
func TestCarryWaits(t *testing.T) {
	s := &scripted{t: t, lines: strings.Split("failed/failed/settled", "/")}
	j := job
	j.Goal = ledger.GoalResume
	began := time.Now()
	if out := Carry(t.Context(), s, j); out.Result != ledger.TransferIsSettled {
		t.Errorf("reported %s", said(&out))
	}
	if took := time.Since(began); took < 2*pause {
		t.Errorf("asked three times in %v", took)
	}
}

// TestCarryUnassigned checks that, where no scheme is configured, a new payout is refused,
// and a payout that may have been sent before stays in doubt.
func TestCarryUnassigned(t *testing.T) {
	out := Carry(t.Context(), scheme.Unassigned{}, job)
	if said(&out) != "refused dict_lookup_failed" {
		t.Errorf("reported %s", said(&out))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	j := job
	j.Goal = ledger.GoalResume
	if out := Carry(ctx, scheme.Unassigned{}, j); said(&out) != "accepted in doubt" {
		t.Errorf("in doubt: reported %s", said(&out))
	}
}
