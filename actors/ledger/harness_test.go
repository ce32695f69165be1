package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pixd/actors/cbormap"
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// harness is one account whose records and rows are in memory. It takes each command
// through Gather, Decide, Apply and Project, and keeps a list of payouts that a child actor
// would carry.
type harness struct {
	t       testing.TB
	account *Account
	records []Record
	rows    map[string][]byte
	carried map[pix.TxID]*Transaction
	waiting map[pix.TxID]bool // payouts whose outcome a request waits for
	ours    bool              // every PIX key is registered here

	terms   Terms
	durable *Totals // totals after the newest durable record; nil: every record is durable
	now     pix.Millis
	start   pix.Millis // when the process was started
	ahead   pix.Millis // by how much records are stamped ahead of now, in ms
	behind  pix.Millis // by how much engine time is behind now, in ms
	doubted bool
	entropy uint64
	failing error // error that every read returns; nil: reads succeed
}

const testAccount = pix.AccountID(7)

// startOfTest is 2026-03-01T12:00:00Z.
const startOfTest = pix.Millis(1772366400000)

// stampsAhead is by how much, in ms, records are stamped ahead of the clock in tests, as after a
// start behind the journal, so that a mix-up of the two times is found.
const stampsAhead = pix.Millis(5 * 60 * 60 * 1000)

func newHarness(t testing.TB) *harness {
	return &harness{
		t: t, account: &Account{ID: testAccount}, rows: map[string][]byte{}, carried: map[pix.TxID]*Transaction{}, waiting: map[pix.TxID]bool{},
		now: startOfTest, ahead: stampsAhead, terms: Terms{
			Secret: []byte("a secret of the test's own"), OwnISPB: "99999004", OrphanAfter: 30 * 60_000, QueueTTL: 2 * 3_600_000, ApprovalTTL: 168 * 3_600_000,
			MEDDeadline: 120 * 3_600_000, MEDAnalysis: 168 * 3_600_000,
		},
	}
}

// Get implements Reader.
func (h *harness) Get(key []byte) ([]byte, bool, error) {
	v, ok := h.rows[string(key)]
	return v, ok, h.failing
}

// Scan implements Reader.
func (h *harness) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	for _, k := range slices.Sorted(maps.Keys(h.rows)) {
		if k < string(lo) || k >= string(hi) {
			continue
		}
		if more, err := fn([]byte(k), h.rows[k]); err != nil || !more {
			return err
		}
	}
	return h.failing
}

// Own implements Reader.
func (h *harness) Own(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	return h.Scan(lo, hi, fn)
}

// Record implements Reader. There are no records of other accounts.
func (h *harness) Record(a pix.AccountID, seq uint64) (*Record, error) {
	if a != testAccount || seq == 0 || seq > uint64(len(h.records)) {
		return nil, fmt.Errorf("record %d of %v is missing", seq, a)
	}
	stored := h.records[seq-1]
	r := &Record{Account: a, Seq: seq, Time: stored.Time, Kind: stored.Kind}
	if err := r.Decode(stored.Encode()); err != nil {
		return nil, err
	}
	return r, h.failing
}

// Claim implements Reader. It uses no filter.
func (h *harness) Claim(key []byte, from, to pix.Millis) ([]byte, bool, error) {
	if from > to {
		return nil, false, h.failing
	}
	return h.Get(key)
}

// KeyIsOurs implements Reader.
func (h *harness) KeyIsOurs(string) bool { return h.ours }

// Carried implements Reader.
func (h *harness) Carried(id pix.TxID) *Transaction { return h.carried[id] }

// EachCarried implements Reader.
func (h *harness) EachCarried(fn func(*Transaction) bool) {
	for _, t := range h.carried {
		if !fn(t) {
			return
		}
	}
}

// Recent implements Reader. No payout is in memory.
func (h *harness) Recent(pix.TxID) *Transaction { return nil }

// RecentSums implements Reader. No refund sums are in memory.
func (h *harness) RecentSums(pix.TxID) *layout.RefundSums { return nil }
func (h *harness) Crowded([]byte, pix.Millis) bool        { return false }
func (h *harness) OwedBehind() pix.Amount                 { return 0 }
func (h *harness) NoteOwed(pix.Amount)                    {}
func (h *harness) Crowd([]byte, pix.Millis)               {}
func (h *harness) Equal(_ pix.TxID, read func() (*Transaction, error)) (*Transaction, error) {
	return read()
}

func (h *harness) draw() (c [10]byte) {
	h.entropy++
	binary.BigEndian.PutUint64(c[2:], h.entropy*0x9E3779B97F4A7C15)
	return c
}

func (h *harness) stamp() Stamp {
	r := pix.Reading{Time: h.now + h.ahead, Clock: h.now - h.behind, Doubted: h.doubted, Start: h.start}
	return Stamp{Reading: r, ID: pix.NewTxID(max(r.Time, h.account.Time), h.draw()), Terms: h.terms}
}

// try takes a command through Gather, Decide, Apply and Project. An error is from Gather.
func (h *harness) try(c Command, inactive bool) (Decision, error) {
	s := h.stamp()
	s.Inactive, s.Durable = inactive, h.account.Totals
	if h.durable != nil {
		s.Durable = *h.durable
	}
	f, err := Gather(h, h.account, c, s)
	if err != nil {
		return Decision{}, err
	}
	before := h.encodedCarried()
	d := h.account.Decide(f, s)
	if after := h.encodedCarried(); !maps.EqualFunc(after, before, bytes.Equal) {
		panic(fmt.Sprintf("%T changed a transaction on which it was decided, and which a child actor has", c))
	}
	for i := range d.Records {
		r := &d.Records[i]
		if r.Claim != nil && r.Kind.Answers() {
			r.Stored = h.render(d.Records[i:], r)
		} else if r.Claim != nil && r.Kind == AnswerKept && r.Stored == nil {
			r.Stored = h.render(nil, &Record{Body: Body{Tx: d.Tx, Claim: r.Claim}})
		}
		h.write(r)
	}
	h.follow(&d)
	h.named(d.Alerts)
	return d, nil
}

var endToEndIn = regexp.MustCompile(`its end-to-end id is [ED][0-9A-Z]{8}[0-9]{12}[0-9A-Za-z]{11}\b`)

// named checks that look-ups find the transaction which an alert names: under its end-to-end id, where
// the merchant has not seen it.
func (h *harness) named(alerts []Alert) {
	h.t.Helper()
	for _, a := range alerts {
		if endToEndIn.MatchString(a.Message) {
			continue
		}
		row, err := layout.DecodeIDRow(h.rows[string(layout.IDKey(a.Tx.Short()))])
		if err != nil || row.ID != a.Tx {
			h.t.Errorf("alert %s about %s, which no look-up finds (%v)", a.Kind, a.Public, err)
			continue
		}
		if t, err := (&gathering{Reader: h, account: h.account}).state(a.Tx, 0); err != nil || t.Public() != a.Public {
			h.t.Errorf("alert %s about %s: %v", a.Kind, a.Public, err)
		}
	}
}

// encodedCarried returns the bytes of each transaction that a child actor carries.
func (h *harness) encodedCarried() map[pix.TxID][]byte {
	all := map[pix.TxID][]byte{}
	for id, t := range h.carried {
		all[id] = cbormap.Append(nil, t)
	}
	return all
}

func (h *harness) step(c Command) Decision {
	h.t.Helper()
	d, err := h.try(c, false)
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

// render makes the answer that is stored under a record's claim, as one line: the status of
// the record's transaction after all records of the decision.
func (h *harness) render(records []Record, r *Record) *Stored {
	t := r.Tx
	if s := r.Subscription; s != nil {
		return &Stored{Code: 200, Body: fmt.Appendf(nil, "subscription %d", s.ID.Number())}
	}
	if t == nil {
		return &Stored{Code: 200, Body: fmt.Appendf(nil, "%v style %d", r.Case.Status, r.Claim.Style)}
	}
	for i := range records {
		if other := records[i].Tx; other != nil && other.ID == t.ID {
			t = other
		}
	}
	code := 200
	switch t.Status {
	case pix.StatusAccepted, pix.StatusRejected, pix.StatusQueued, pix.StatusPending:
		code = 202
	}
	return &Stored{Code: code, Body: fmt.Appendf(nil, "%v style %d", t.Status, r.Claim.Style)}
}

// write applies a record and writes its rows.
func (h *harness) write(r *Record) {
	h.t.Helper()
	if err := h.account.Apply(r); err != nil {
		h.t.Fatal(err)
	}
	var before *Record
	if r.Prev != 0 {
		before = &h.records[r.Prev-1]
	}
	if err := r.Follows(before); err != nil {
		h.t.Fatal(err)
	}
	if r.Tx != nil && foreignParts(r.Tx) != nil {
		h.t.Fatalf("%v: a %v with parts %v", r.Kind, r.Tx.Kind, foreignParts(r.Tx))
	}
	h.records = append(h.records, *r)
	for _, row := range Project(nil, r) {
		if row.Value == nil {
			delete(h.rows, string(row.Key))
		} else {
			h.rows[string(row.Key)] = row.Value
		}
	}
	if r.Tx == nil || h.carried[r.Tx.ID] == nil {
		return
	}
	if h.carried[r.Tx.ID] = r.Tx; !r.Tx.Status.InFlight() {
		delete(h.carried, r.Tx.ID)
	}
}

// follow updates the list of payouts that a child actor would carry after a decision.
func (h *harness) follow(d *Decision) {
	if d.Ended != nil {
		delete(h.carried, d.Ended.ID)
	}
	for _, l := range d.Launch {
		h.carried[l.Tx.ID] = l.Tx
	}
}

// open opens the account and, if balance is above 0, credits that balance.
func (h *harness) open(s Settings, balance pix.Amount) {
	h.t.Helper()
	h.step(OpenAccount{Settings: s})
	if balance > 0 {
		h.step(Credit{Kind: pix.TxTED, Amount: balance})
	}
}

// restart simulates a restart of the process: it forgets the carried payouts and rebuilds
// the head from the records.
func (h *harness) restart() {
	h.carried, h.start = map[pix.TxID]*Transaction{}, h.now-h.behind
	again := &Account{ID: testAccount}
	for i := range h.records {
		if err := again.Apply(&h.records[i]); err != nil {
			h.t.Fatal(err)
		}
	}
	if string(again.EncodeHead()) != string(h.account.EncodeHead()) || again.Seq != h.account.Seq || again.Time != h.account.Time {
		h.t.Errorf("made again %+v, was %+v", again, h.account)
	}
	h.account = again
}

// dump lists every row.
func (h *harness) dump() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(h.rows)) {
		fmt.Fprintf(&b, "%x = %x\n", k, h.rows[k])
	}
	return b.String()
}

// rebuilt lists the rows that Project makes from the records alone, for a comparison with
// dump.
func (h *harness) rebuilt() string {
	other := newHarness(h.t)
	for i := range h.records {
		other.write(&h.records[i])
	}
	return other.dump()
}
