package ledger

import (
	"errors"
	"fmt"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// failingReader succeeds for the given number of reads and returns an error for the next
// one.
type failingReader struct {
	Reader
	left int
	hit  bool
}

var errDisk = errors.New("disk")

func (f *failingReader) next() error {
	if f.left--; f.left < 0 {
		f.hit = true
		return errDisk
	}
	return nil
}

func (f *failingReader) Get(key []byte) ([]byte, bool, error) {
	if err := f.next(); err != nil {
		return nil, false, err
	}
	return f.Reader.Get(key)
}

func (f *failingReader) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	if err := f.next(); err != nil {
		return err
	}
	return f.Reader.Scan(lo, hi, fn)
}

func (f *failingReader) Record(a pix.AccountID, seq uint64) (*Record, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	return f.Reader.Record(a, seq)
}

func (f *failingReader) Claim(key []byte, from, to pix.Millis) ([]byte, bool, error) {
	if err := f.next(); err != nil {
		return nil, false, err
	}
	return f.Reader.Claim(key, from, to)
}

// crippled is a reader that appends three bytes to every row, so that no row has a valid
// length.
type crippled struct{ Reader }

func (c crippled) Get(key []byte) ([]byte, bool, error) {
	v, ok, err := c.Reader.Get(key)
	return append(v, 1, 2, 3), ok, err
}

func (c crippled) Claim(key []byte, from, to pix.Millis) ([]byte, bool, error) {
	v, ok, err := c.Reader.Claim(key, from, to)
	return append(v, 1, 2, 3), ok, err
}

// TestReadsThatFail checks that Gather returns an error wherever a read fails or a row has
// a form that no version of the engine wrote.
func TestReadsThatFail(t *testing.T) {
	h := open(t, 1_000_000)
	h.terms.Secret = []byte("s")
	claim := func(n byte) *Claim { return &Claim{Scope: [16]byte{n}} }
	key := emailKey(t, "a@example.com")
	h.step(Credit{Kind: pix.TxTED, Amount: 1, Reference: "r"})
	charge := h.step(CreateCharge{Amount: 5, Key: key, Claim: claim(1)}).Tx
	paid := h.step(ReceivePayment{EndToEnd: storyID("paid"), Amount: 7}).Tx
	first := h.step(RequestPayout{Amount: 1, Key: key, Claim: claim(2)}).Launch[0].Tx
	second := h.step(RequestPayout{Amount: 1, Key: key}).Launch[0].Tx
	third := h.step(RequestPayout{Amount: 1, Key: key}).Launch[0].Tx
	h.step(ResolveTransfer{ID: first.ID, EndToEnd: first.EndToEnd, Result: TransferIsAccepted})
	own := h.step(RequestPayout{Amount: 2, Key: key, EndToEnd: "E9999900420260301120000000000000"}).Launch[0].Tx
	queued := h.step(RequestPayout{Amount: 3, Key: key}).Launch[0].Tx
	h.step(ResolveTransfer{ID: queued.ID, EndToEnd: queued.EndToEnd, Result: TransferIsLimited, Refusal: RefuseBucket})
	h.step(RequestPayout{Amount: 3, Key: key})
	h.restart()
	for _, c := range []Command{
		Credit{Kind: pix.TxTED, Amount: 1, Reference: "r"},
		CreateCharge{Amount: 5, Key: key, Claim: claim(1)},
		ReceivePayment{EndToEnd: storyID("paid"), Amount: 7},
		ReceivePayment{EndToEnd: storyID("new"), Amount: 5, TxID: charge.Public()},
		RequestPayout{Amount: 1, Key: key},
		RequestPayout{Amount: 1, Key: key, Claim: claim(2)},
		RequestPayout{Amount: 2, Key: key, EndToEnd: own.EndToEnd},
		ResolveTransfer{ID: second.ID, EndToEnd: second.EndToEnd, Result: TransferIsRefused, Refusal: RefuseKeyBlocked},
		ResolveTransfer{ID: third.ID, EndToEnd: third.EndToEnd, Result: TransferIsRejected, Reason: ReasonDuplicate},
		ResolveTransfer{ID: queued.ID, EndToEnd: queued.EndToEnd, Result: TransferIsSending},
		ReceiveReturn{ID: first.ID, EndToEnd: first.EndToEnd, ReturnID: "D" + storyID("back")[1:], Amount: 1},
		Attend{ID: layout.EntityID(second.ID), Seq: second.Record()},
		DecideApproval{ID: queued.ID, Word: Approved},
		RequestRefund{Original: storyID("paid"), Amount: 1},
		RequestRefund{Original: paid.ID.String(), Amount: 1},
		RequestRefund{Original: paid.Public(), Amount: 1},
	} {
		for _, doubted := range []bool{false, true} {
			h.doubted = doubted
			reads := 0
			for ; ; reads++ {
				f := &failingReader{Reader: h, left: reads}
				_, err := Gather(f, h.account, c, h.stamp())
				if !f.hit && err == nil {
					break
				}
				if f.hit != errors.Is(err, errDisk) {
					t.Fatalf("%+v: read %d failed: %v, %v", c, reads, f.hit, err)
				}
			}
			if _, asksOnlyWhetherOneIs := c.(Attend); !asksOnlyWhetherOneIs {
				if _, err := Gather(crippled{h}, h.account, c, h.stamp()); err == nil {
					t.Errorf("%+v: rows of no form are taken", c)
				}
			}
			if reads == 0 {
				t.Errorf("%+v reads nothing", c)
			}
		}
	}
}

// TestRefusedRefundReadsNoCases checks that a refund beyond the payment is refused without a look at the cases that hold money:
// a merchant may repeat it at will, and an account may have many cases. A refund of all that the payment's case gives up is made.
func TestRefusedRefundReadsNoCases(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	for i := range 20 {
		h.paid(fmt.Sprint("c", i), 1_000)
		h.reported(fmt.Sprint("c", i), 1_000)
	}
	paid := h.paid("a", 10_000)
	h.results(h.step(RequestRefund{Original: paid.EndToEnd, Amount: 1_000, Reason: "MD06"}).Launch[0].Tx, TransferIsSettled, "")
	h.results(h.agreed(h.reported("a", 3_000)), TransferIsRejected, "AC03")
	for _, c := range []struct {
		amount pix.Amount
		reads  bool
		want   RefusalCode
	}{{0, false, RefuseOverRefund}, {9_001, false, RefuseOverRefund}, {9_000, true, RefuseNothing}} {
		ask := RequestRefund{Original: paid.EndToEnd, Amount: c.amount, Reason: "MD06"}
		f := &failingReader{Reader: h, left: 1_000}
		if _, err := Gather(f, h.account, ask, h.stamp()); err != nil {
			t.Fatal(err)
		}
		if reads := 1_000 - f.left; reads > 20 != c.reads {
			t.Errorf("a refund of %d takes %d reads", c.amount, reads)
		}
		got := RefuseNothing
		if d := h.step(ask); d.Refusal != nil {
			got = d.Refusal.Code
		}
		if got != c.want {
			t.Errorf("a refund of %d: %v, want %v", c.amount, got, c.want)
		}
	}
}

func storyID(tail string) string { return fmt.Sprintf("E99999003202603011200%011s", tail) }
