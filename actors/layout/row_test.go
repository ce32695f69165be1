package layout

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pixd/actors/pix"
)

// paidID is the end-to-end id of a payment.
const paidID = "E999990032026030112000000000000x"

// TestRowKeys checks that each row key decodes to the values it was made of, lies in the
// ranges by which its kind of row is scanned, has a name, and is not taken for a key of
// another kind.
func TestRowKeys(t *testing.T) {
	const a = pix.AccountID(7)
	id := pix.TxID{1, 2, 3}
	within := func(k []byte, lo, hi []byte) bool { return bytes.Compare(lo, k) <= 0 && bytes.Compare(k, hi) < 0 }
	for _, account := range []pix.AccountID{1, a, ^pix.AccountID(0)} {
		k := OpenKey(account, id)
		if lo, hi := OpenOf(account); !within(k, lo, hi) {
			t.Errorf("%x is not among its account's", k)
		}
		if lo, hi := OpenRange(); !within(k, lo, hi) || !IsOpenKey(k) {
			t.Errorf("%x is not among the open", k)
		}
		if got, tx, err := DecodeOpenKey(k); got != account || tx != id || err != nil {
			t.Errorf("%x is read as %v %v %v", k, got, tx, err)
		}
		k = ItemKey(account, 1<<63)
		if lo, hi := ItemsOf(account); !within(k, lo, hi) || !IsItemKey(k) || ItemOwner(k) != account {
			t.Errorf("%x is not among its account's items", k)
		}
		if lo, hi := ItemsOf(0); !within(k, lo, hi) {
			t.Errorf("%x is not among all items", k)
		}
		if owner, ok := HeadOwner(HeadKey(account)); !ok || owner != account {
			t.Errorf("head of %v: %v %v", account, owner, ok)
		}
		lo, hi := ReceivedRange(paidID)
		if got, err := DecodeReceivedKey(ReceivedKey(paidID, account)); got != account || err != nil || !within(ReceivedKey(paidID, account), lo, hi) {
			t.Errorf("received by %v: %v %v", account, got, err)
		}
	}
	if lo, hi := OpenOf(6); within(OpenKey(a, pix.TxID{}), lo, hi) {
		t.Error("an account's open rows are another's")
	}
	for k, absent := range map[string]bool{
		string(EndToEndKey(paidID)): true, string(SuffixKey("suffix")): true, string(RefundSumsKey(a, id)): true,
		string(ReceivedKey(paidID, a)): false, string(OpenKey(a, id)): false,
	} {
		in := false
		for _, r := range MostlyAbsentRanges() {
			in = in || within([]byte(k), r[0], r[1])
		}
		if in != absent || MostlyAbsent([]byte(k)) != absent {
			t.Errorf("%x is among the keys that are mostly absent: %v, in a range: %v", k, MostlyAbsent([]byte(k)), in)
		}
	}
	if _, ok := HeadOwner(OpenKey(a, id)); ok || IsOpenKey(HeadKey(a)) || IsItemKey(OpenKey(a, id)) || IsIdempotency(HeadKey(a)) {
		t.Error("a key of another kind is taken")
	}
	if !IsIdempotency(IdempotencyKey(1, a, [16]byte{})) || RowName(HeadKey(a)) != "head" || RowName(nil) != "" || RowName([]byte("Z")) != "" {
		t.Error("names")
	}
	for k, fact := range map[string]bool{
		string(OpenKey(a, id)): true, string(HeadKey(a)): false, string(StatementKey(a, 1)): false, string(ExternalKey(a, "x", 1)): false,
		string(QueueKey(QueueFor(pix.BucketClient, a), id)): false, string(QueueKey(QueueFor(pix.BucketShared, a), id)): false, string(ItemKey(a, 1)): true,
	} {
		if IsFact([]byte(k)) != fact {
			t.Errorf("%x is a fact: %v", k, !fact)
		}
	}
}

// TestDayRanges checks that a day's claims sort after the claims of earlier days.
func TestDayRanges(t *testing.T) {
	k := IdempotencyKey(9, 7, [16]byte{1})
	for bucket, before := range map[uint16]bool{8: false, 9: false, 10: true} {
		lo, hi := IdempotencyBefore(bucket)
		if got := bytes.Compare(lo, k) <= 0 && bytes.Compare(k, hi) < 0; got != before {
			t.Errorf("before day %d: %v", bucket, got)
		}
		lo, hi = IdempotencyFrom(bucket)
		if got := bytes.Compare(lo, k) <= 0 && bytes.Compare(k, hi) < 0; got == before {
			t.Errorf("from day %d on: %v", bucket, got)
		}
	}
	if d, err := DecodeIdempotencyDay(k); d != 9 || err != nil {
		t.Error(d, err)
	}
}

// TestDueRows checks that due rows sort by kind and then by due time, and decode to the
// values they were made of.
func TestDueRows(t *testing.T) {
	id := pix.TxID{5}
	seen := map[bool]int{}
	for _, kind := range DueKinds() {
		seen[kind.Need() == NeedsScheme]++
		k := DueKey(kind, 50, 7, EntityID(id))
		d, err := DecodeDue(k, SeqRow(12))
		if want := (Due{Kind: kind, At: 50, Account: 7, ID: EntityID(id), Seq: 12}); d != want || err != nil {
			t.Errorf("read as %+v, %v", d, err)
		}
		if after := DueKeyAfter(&d); bytes.Compare(k, after) >= 0 || bytes.Compare(after, DueKey(kind, 50, 7, EntityID{5, 1})) > 0 {
			t.Errorf("%x comes after %x", after, k)
		}
		for until, in := range map[pix.Millis]bool{50: false, 51: true} {
			lo, hi := DueRange(kind, 0, until)
			if got := bytes.Compare(lo, k) <= 0 && bytes.Compare(k, hi) < 0; got != in {
				t.Errorf("%v until %d: %v", kind, until, got)
			}
		}
		if lo, hi := AllDue(); bytes.Compare(k, lo) < 0 || bytes.Compare(k, hi) >= 0 {
			t.Errorf("%x is not among all", k)
		}
	}
	if seen[true] != 3 || seen[false] != 3 {
		t.Errorf("kinds that need the scheme, and others: %v", seen)
	}
}

// TestReceivedRows checks that received rows are decoded as they were encoded, and that a row is
// refused that is cut at any place, continues behind its end, or has an amount that no payment
// has.
func TestReceivedRows(t *testing.T) {
	o := Original{ID: pix.TxID{3}, EndToEnd: paidID, Amount: 7}
	paid := o
	paid.Counterparty = pix.Party{Name: strings.Repeat("ç", 140), Document: "12345678909", ISPB: "60701190"}
	for _, want := range []ReceivedRow{{Seq: 5}, {Seq: 5, Payment: &o}, {Seq: 5, Payment: &paid}} {
		b := want.Encode()
		if got, err := DecodeReceivedRow(paidID, b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v is decoded as %+v, %v", want, got, err)
		}
		for n := range b {
			if _, err := DecodeReceivedRow(paidID, b[:n]); err == nil && n != returnRowBytes {
				t.Errorf("%d bytes of %x are taken", n, b)
			}
		}
		if _, err := DecodeReceivedRow(paidID, append(b, 0)); err == nil {
			t.Errorf("%x and a byte more is taken", b)
		}
	}
	o.Amount = 0
	if _, err := DecodeReceivedRow(paidID, ReceivedRow{Seq: 5, Payment: &o}.Encode()); err == nil {
		t.Error("a payment of nothing is taken")
	}
}

// TestQueueRows checks that a queue's payouts sort in the order of their requests, and
// apart from other queues' payouts.
func TestQueueRows(t *testing.T) {
	for _, q := range []Queue{
		{pix.BucketInstitution, 0}, {pix.BucketClient, 7}, {pix.BucketClient, pix.LastAccountID}, {pix.BucketShared, 1}, {pix.BucketShared, 7}, {pix.BucketShared, ^pix.AccountID(0)},
	} {
		k := QueueKey(q, pix.TxID{5})
		got, err := DecodeQueued(k, QueueRow(7))
		if want := (Queued{q, 7, pix.TxID{5}}); got != want || err != nil {
			t.Errorf("read as %+v, %v", got, err)
		}
		for after, in := range map[pix.TxID]bool{{}: true, {4}: true, {5}: false} {
			lo, hi := QueueOf(q, after)
			if got := bytes.Compare(lo, k) <= 0 && bytes.Compare(k, hi) < 0; got != in {
				t.Errorf("queue %+v behind %v: %v", q, after, got)
			}
		}
		in := 0
		for _, r := range QueueRanges() {
			if bytes.Compare(r[0], k) <= 0 && bytes.Compare(k, r[1]) < 0 {
				in++
			}
		}
		if in != 1 {
			t.Errorf("%x is in %d ranges of queue rows", k, in)
		}
	}
}
