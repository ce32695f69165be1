package history

import (
	"errors"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestDamagedLeftOut checks that lists over all accounts show the other accounts' entries where one account's record is
// missing, is about something else, or cannot be decoded; and that they fail where the disk gives no bytes.
func TestDamagedLeftOut(t *testing.T) {
	for name, seq := range map[string]uint64{"a record that is missing": 99, "a record about something else": 1} {
		b := newBook(t)
		for id := pix.AccountID(1); id <= 2; id++ {
			b.do(id, ledger.Credit{Kind: pix.TxTED, Amount: 10_000})
			b.hook(id)
			tx := b.payout(id, payment(int(id)), ledger.TransferIsAccepted)
			b.payout(id, payment(int(id)+2), ledger.TransferIsSettled)
			if id == 2 {
				row := layout.ItemRow{Seq: seq, Kind: pix.TxPayout, Status: pix.StatusSettled}
				b.write(&wal.Entry{Shared: true, Ops: []wal.Op{
					{Kind: wal.OpSet, Key: layout.OpenKey(id, tx.ID), Value: layout.SeqRow(seq)},
					{Kind: wal.OpSet, Key: layout.ItemKey(id, tx.Ordinal+1), Value: row.Encode()},
					{Kind: wal.OpSet, Key: layout.SubscriptionKey(id, 1), Value: layout.SeqRow(seq)},
					{Kind: wal.OpSet, Key: layout.DeliveryKey(layout.Target{Account: id, Number: 1}, layout.DeliveryDead, 1), Value: (&layout.DeliveryStatus{Record: seq}).Encode()},
				}})
			}
		}
		h := New(b.store)
		inFlight, err1 := h.InFlight(0, nil, nil, 9)
		ended, err2 := h.FinalPayouts(0, pix.StatusSettled, nil, 9)
		subscriptions, err3 := h.AllSubscriptions(0, nil, 9)
		dead, err4 := h.AllDeliveries(0, 0, layout.DeliveryDead, nil, 9)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(inFlight.Entries) != 1 || inFlight.Entries[0].Account != 1 || inFlight.Damaged != 1 {
			t.Errorf("%s: in flight are %+v", name, inFlight)
		}
		if len(ended.Entries) != 1 || ended.Entries[0].Account != 1 || ended.Damaged != 1 {
			t.Errorf("%s: ended are %+v", name, ended)
		}
		if len(subscriptions.Entries) != 1 || subscriptions.Entries[0].ID.Account() != 1 || subscriptions.Damaged != 1 {
			t.Errorf("%s: subscriptions are %+v", name, subscriptions)
		}
		if len(dead.Entries) != 0 || dead.Damaged != 1 {
			t.Errorf("%s: deliveries are %+v", name, dead)
		}
		if _, err := h.Subscription(layout.Target{Account: 2, Number: 1}); !errors.Is(err, layout.ErrDamaged) {
			t.Errorf("%s: one subscription: %v", name, err)
		}
		h.journal = unreadRecords{h.journal}
		_, err1 = h.InFlight(0, nil, nil, 9)
		_, err2 = h.FinalPayouts(0, pix.StatusSettled, nil, 9)
		_, err3 = h.AllSubscriptions(0, nil, 9)
		_, err4 = h.AllDeliveries(0, 0, layout.DeliveryDead, nil, 9)
		for _, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, errHangs) || errors.Is(err, layout.ErrDamaged) {
				t.Errorf("the disk gives nothing: %v", err)
			}
		}
	}
}

var errHangs = errors.New("input/output error")

// unreadRecords is a journal that cannot read its records.
type unreadRecords struct{ Journal }

func (unreadRecords) Record(wal.Stream, uint64) (wal.Record, bool, error) {
	return wal.Record{}, false, errHangs
}

// TestCoverOfDamaged checks that the cases of an account whose newest record cannot be decoded are left out of the list of all.
func TestCoverOfDamaged(t *testing.T) {
	b := newBook(t)
	b.opened(1, b.received(1, payment(1), 10), "inf-1", 10)
	k := b.opened(2, b.received(2, payment(2), 10), "inf-2", 10)
	b.opened(2, b.received(2, payment(3), 10), "inf-3", 10)
	b.do(2, ledger.Credit{Kind: pix.TxTED, Amount: 10})
	h := New(b.store)
	h.journal = badRecord{h.journal, b.accounts[2].Seq}
	got, err := h.AllCases(0, nil, 9)
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Account != 1 || got.Entries[0].Case.Covered != 10 || got.Damaged != 2 {
		t.Errorf("%+v (%v)", got, err)
	}
	if _, err := h.Case(2, k.ID.String()); !errors.Is(err, layout.ErrDamaged) || !errors.As(err, new(undecodable)) {
		t.Errorf("one case: %v", err)
	}
}

// badRecord is a journal in which one record of account 2 cannot be decoded.
type badRecord struct {
	Journal
	seq uint64
}

func (u badRecord) Record(stream wal.Stream, seq uint64) (wal.Record, bool, error) {
	r, ok, err := u.Journal.Record(stream, seq)
	if stream == 2 && seq == u.seq {
		r.Body = []byte{0xff}
	}
	return r, ok, err
}

// TestListOfUndecodable checks that an account's list which comes upon a record that this version cannot decode says that it is
// damaged, as a look-up does.
func TestListOfUndecodable(t *testing.T) {
	b := newBook(t)
	tx := b.do(1, ledger.Credit{Kind: pix.TxTED, Amount: 7})
	seq := b.accounts[1].Seq + 1
	s := wal.Seal(b.sums[1], wal.Record{Stream: 1, Seq: seq, Kind: uint8(ledger.Credited), Time: int64(b.now), Body: []byte{0xff}})
	row := layout.ItemRow{Seq: seq, Kind: pix.TxTED, Status: pix.StatusCompleted}
	b.write(&wal.Entry{Stream: 1, Expect: seq - 1, Records: []wal.Sealed{s}, Ops: []wal.Op{{Kind: wal.OpSet, Key: layout.ItemKey(1, tx.Ordinal), Value: row.Encode()}}})
	h := New(b.store)
	_, err1 := h.Transaction(1, tx.Public())
	_, err2 := h.Transactions(1, "", layout.Filter{}, layout.Page{Number: 1, Size: 20})
	for _, err := range []error{err1, err2} {
		if !errors.Is(err, layout.ErrDamaged) {
			t.Error(err)
		}
	}
}
