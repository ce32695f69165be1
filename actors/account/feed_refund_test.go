package account

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// fed is a Feed over a bench's store that keeps what it hands on, and acknowledges each notice
// when the test says so.
type fed struct {
	Feed
	accounts []pix.AccountID
	commands []ledger.Command
	done     []func(error)
}

func newFed(b *bench) *fed {
	f := &fed{}
	f.Feed = Feed{
		Rows: b.store, Key: func(string) (pix.AccountID, bool) { return 0, false },
		Notice: func(id pix.AccountID, c ledger.Command, done func(error)) {
			f.accounts, f.commands, f.done = append(f.accounts, id), append(f.commands, c), append(f.done, done)
		},
	}
	return f
}

// take hands a notice to the feed; handed reports whether an account got it.
func (f *fed) take(n scheme.Notice) (handed bool, err error) {
	before := len(f.done)
	f.Take(n, func(e error) { err = e })
	return len(f.done) > before, err
}

// TestFeedReports checks that reports, and their withdrawals, go to the account that received
// the payment, whether the notice names that account or none.
func TestFeedReports(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	e2e := endToEnd("a")
	b.step(ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	f := newFed(b)
	opened := scheme.Notice{Kind: scheme.InfractionOpened, Infraction: "inf-1", EndToEnd: e2e, Amount: 700, Situation: "SCAM"}
	cancelled := scheme.Notice{Kind: scheme.InfractionCancelled, Infraction: "inf-1", EndToEnd: e2e}
	for notice, want := range map[scheme.Notice]ledger.Command{
		opened:    ledger.OpenCase{Infraction: "inf-1", EndToEnd: e2e, Amount: 700, Situation: "SCAM"},
		cancelled: ledger.CancelCase{Infraction: "inf-1", EndToEnd: e2e},
	} {
		for _, account := range []pix.AccountID{0, testAccount} {
			notice.Account = account
			handed, err := f.take(notice)
			if last := len(f.done) - 1; err != nil || !handed || f.accounts[last] != testAccount || f.commands[last] != want {
				t.Fatalf("%v naming %v: %v, handed on %v: %+v", notice.Kind, account, err, handed, f.commands)
			}
			f.done[len(f.done)-1](nil)
		}
		notice.Account = testAccount + 1
		if handed, err := f.take(notice); err == nil || handed {
			t.Errorf("%v naming another account: %v, handed on %v", notice.Kind, err, handed)
		}
		notice.Account, notice.EndToEnd = 0, endToEnd("b")
		if handed, err := f.take(notice); !errors.Is(err, errNotThere) || handed {
			t.Errorf("%v of an unknown payment: %v, handed on %v", notice.Kind, err, handed)
		}
		f.Refused = func(id string) bool { return id == endToEnd("c") }
		if handed, err := f.take(notice); !errors.Is(err, errNotThere) || handed {
			t.Errorf("%v of an unknown payment, while another was refused: %v, handed on %v", notice.Kind, err, handed)
		}
		notice.EndToEnd = endToEnd("c")
		if handed, err := f.take(notice); err != nil || handed {
			t.Errorf("%v of a payment that was refused: %v, handed on %v", notice.Kind, err, handed)
		}
		f.Refused = nil
	}
}

// TestFeedReportOfTwo checks a report of an end-to-end id under which two accounts received a
// payment: it goes to the account that the notice names.
func TestFeedReportOfTwo(t *testing.T) {
	b, e2e := newBench(t), endToEnd("a")
	for _, a := range []pix.AccountID{3, 7} {
		b.store.rows[string(layout.ReceivedKey(e2e, a))] = make([]byte, 8)
	}
	f := newFed(b)
	for named, want := range map[pix.AccountID]pix.AccountID{0: 3, 3: 3, 7: 7} {
		handed, _ := f.take(scheme.Notice{Kind: scheme.InfractionOpened, Infraction: "inf-1", EndToEnd: e2e, Amount: 1, Account: named})
		if last := len(f.done) - 1; !handed || f.accounts[last] != want {
			t.Errorf("naming %v: handed on %v to %v", named, handed, f.accounts)
		} else {
			f.done[last](nil)
		}
	}
	fault := errors.New("rows are gone")
	f.Rows = scanned(func(_, _ []byte, _ layout.Visit) error { return fault })
	if handed, err := f.take(scheme.Notice{Kind: scheme.InfractionOpened, Infraction: "inf-1", EndToEnd: e2e, Amount: 1}); !errors.Is(err, fault) || handed {
		t.Errorf("from rows that cannot be read: %v, handed on %v", err, handed)
	}
}

// TestOneReportAtOnce checks that, while one account works on a report, another notice of the
// same report is refused, also one of its withdrawal or about another payment.
func TestOneReportAtOnce(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	for _, tail := range []string{"a", "b"} {
		b.step(ledger.ReceivePayment{EndToEnd: endToEnd(tail), Amount: 1000, Key: "k"})
	}
	f := newFed(b)
	notice := func(infraction, tail string) scheme.Notice {
		return scheme.Notice{Kind: scheme.InfractionOpened, Infraction: infraction, EndToEnd: endToEnd(tail), Amount: 1}
	}
	if handed, _ := f.take(notice("inf-1", "a")); !handed {
		t.Fatal("the first is not handed on")
	}
	withdrawn := notice("inf-1", "a")
	withdrawn.Kind = scheme.InfractionCancelled
	for name, n := range map[string]scheme.Notice{"the same": notice("inf-1", "a"), "of another payment": notice("inf-1", "b"), "withdrawn": withdrawn} {
		if handed, err := f.take(n); !errors.Is(err, errInWork) || handed {
			t.Errorf("%s: %v, handed on %v", name, err, handed)
		}
	}
	if handed, _ := f.take(notice("inf-2", "a")); !handed {
		t.Error("another report of the same payment is not handed on")
	}
	f.done[0](errors.New("not now")) // the notice comes again
	if handed, _ := f.take(notice("inf-1", "b")); !handed {
		t.Error("after the first one the next is not handed on")
	}
}

// TestFeedRefunds checks that the outcome of a refund goes to the refund's account by our
// transaction id, while the refund is only held and after that.
func TestFeedRefunds(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	e2e := endToEnd("a")
	b.step(ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	held := b.step(ledger.RequestRefund{Original: e2e, Amount: 100}).Start[0].Tx
	f := newFed(b)
	settled := scheme.Notice{Kind: scheme.RefundSettled, Tx: held.ID, EndToEnd: held.EndToEnd}
	rejected := scheme.Notice{Kind: scheme.RefundRejected, Tx: held.ID, EndToEnd: held.EndToEnd, Reason: "CH16"}
	for range 2 {
		for n, want := range map[scheme.Notice]ledger.ResolveTransfer{
			settled:  {ID: held.ID, EndToEnd: held.EndToEnd, Notice: true, Result: ledger.TransferIsSettled},
			rejected: {ID: held.ID, EndToEnd: held.EndToEnd, Notice: true, Result: ledger.TransferIsRejected, Reason: "CH16"},
		} {
			handed, err := f.take(n)
			if last := len(f.done) - 1; err != nil || !handed || f.accounts[last] != testAccount || f.commands[last] != want {
				t.Errorf("%v: %v, handed on %v", n.Kind, err, handed)
			}
			stranger := n
			stranger.Tx[15] ^= 1 // a bit of the id that is not part of the public transaction_id
			if handed, err := f.take(stranger); !errors.Is(err, errNotOurs) || handed {
				t.Errorf("%v of another refund: %v, handed on %v", n.Kind, err, handed)
			}
			n.Account = testAccount + 1
			if handed, err := f.take(n); !errors.Is(err, errAccount) || handed {
				t.Errorf("%v naming another account: %v, handed on %v", n.Kind, err, handed)
			}
		}
		b.step(ledger.ResolveTransfer{ID: held.ID, EndToEnd: held.EndToEnd, Result: ledger.TransferIsAccepted})
	}
}
