package ledger

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pixd/actors/cbormap"
	"pixd/actors/layout"
	"pixd/actors/pix"
)

var rewrite = flag.Bool("golden", false, "write the golden files anew: a stored format may only grow")

func fullTx(kind pix.TxKind, status pix.TxStatus) *Transaction {
	t := &Transaction{
		ID: pix.NewTxID(1772366400000, [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), Kind: kind, Status: status,
		Amount: 1_000_000, Fee: 1_500, EndToEnd: "E99999004202603011200abcdefghijk", ExternalID: "order-1", Description: "Açaí",
		Counterparty: pix.Party{Name: "Ana", Document: "12345678909", ISPB: "60701190"},
		CreatedAt:    1772366400001, BookedAt: 1772366400201, ReasonCode: "AC03", Ordinal: 3, Booking: 2,
	}
	key := pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}
	switch kind {
	case pix.TxCharge:
		t.Charge = ChargePart{Key: key, MerchantName: "Loja", MerchantCity: "SAO PAULO"}
	case pix.TxReceipt:
		t.Receipt = ReceiptPart{Key: key.Value}
	case pix.TxTED, pix.TxInternal:
		t.Credit = CreditPart{Reference: "ref-1"}
	case pix.TxReturn:
		t.Return = ReturnPart{Original: pix.TxID{9}, OriginalEndToEnd: "E99999004202603011159abcdefghijk", OriginalAmount: 2_000_000, Returned: 5}
	case pix.TxPayout:
		t.Payout = PayoutPart{
			Key: key, GivenDocument: "98765432100", RecipientISPB: "18236120", Purpose: "rent",
			Attempt: 1, UnderSuffix: true, DuplicateOf: &pix.TxID{1}, Returned: 5,
		}
		t.Transfer = TransferPart{DueAt: 1772368200000, Claim: fullClaim()}
	}
	ofCase := pix.CaseID{4}
	if kind == pix.TxRefund {
		t.EndToEnd = "D99999004202603011200abcdefghijk"
		t.Refund = RefundPart{
			Original: pix.TxID{9}, OriginalEndToEnd: "E99999004202603011159abcdefghijk", OriginalAmount: 2_000_000, Code: "FR01", Case: &ofCase, Refunded: 5,
		}
		t.Transfer = TransferPart{DueAt: 1772368200000, Claim: fullClaim()}
	}
	return t
}

// fullCase is a case with every field set, in the status that a record of the kind gives it.
func fullCase(k RecordKind) *Case {
	c := &Case{
		ID: pix.CaseID{4}, Ordinal: 2, Infraction: "inf-1", Original: pix.TxID{9}, EndToEnd: "E99999004202603011159abcdefghijk",
		Amount: 2_000_000, Held: 1_000_000, Covered: 900_000, Refunded: 5, Situation: "SCAM", Status: cmp.Or(k.row().caseTo, pix.CaseClosed),
		Result: pix.Agreed, Details: "proven", Defense: &Defense{Justification: "delivered", Result: pix.Disagreed, Contact: "ana", SubmittedAt: 1772366400100},
		OpenedAt: 1772366400000, DeadlineAt: 1772798400000, AnalysisAt: 1772971200000, ClosedAt: 1772366400201, ReleaseAt: 1780142400000,
		DueAt: 1780142400000, Stopped: true, Doubted: true,
	}
	c.standsAt(300)
	return c
}

// waited is fullTx with those fields also set that are set only while engine time is
// doubted or a payout waits.
func waited(kind pix.TxKind, status pix.TxStatus) *Transaction {
	t := fullTx(kind, status)
	t.Doubted = true
	if kind == pix.TxRefund {
		t.Transfer.Doubt, t.Transfer.AcceptedAt, t.Transfer.Overdue, t.Transfer.LateAt = true, 1772366400101, true, 1772366400301
	}
	if kind != pix.TxPayout {
		return t
	}
	t.Transfer.Doubt, t.Transfer.AcceptedAt = true, 1772366400101
	t.Payout.Bucket, t.Payout.QueueEnds = pix.BucketClient, 1772373600000
	t.Payout.Decision, t.Payout.Operator, t.Payout.Former = Approved, "ana", []string{"E99999004202602281200abcdefghijk"}
	t.Transfer.LateAt, t.Payout.OwnEndToEnd, t.Payout.Repeat = 1772366400301, true, true
	return t
}

// released is a payout that an operator let go on.
func released() *Transaction {
	t := waited(pix.TxPayout, pix.StatusSending)
	t.Payout.Released = 1772366400401
	return t
}

// foundRefund is a refund with the fields that only later versions of the engine set.
func foundRefund() *Transaction {
	t := waited(pix.TxRefund, pix.StatusSettled)
	t.Transfer.Limited, t.Refund.Counts = true, []CaseShare{{pix.CaseID{4}, 300}, {pix.CaseID{5}, 1}}
	return t
}

// openFound is a refund with the field that only a refund has that was taken over on its way.
func openFound() *Transaction {
	t := waited(pix.TxRefund, pix.StatusAccepted)
	t.Refund.Counted = true
	return t
}

func rejectedAfterVoid() *Transaction {
	t := waited(pix.TxPayout, pix.StatusFailed)
	t.Transfer.RejectedAfterVoid, t.Transfer.Unsure = true, true
	return t
}

func fullClaim() *Claim {
	return &Claim{Scope: [16]byte{1, 2}, Bucket: 20513, At: 1772366400000, BodyHash: [16]byte{3, 4}, Style: 1, Doubted: true}
}

// goldenRecords is one record of every kind, with every field that the kind can have.
func goldenRecords() []Record {
	threshold := pix.Amount(7)
	settings := &Settings{
		Name: "Loja", Document: "12ABC34501DE35", City: "RECIFE", CashInFee: Fee{1, 2}, CashOutFee: Fee{3, 4},
		CashOutCeiling: 5, ApprovalThreshold: &threshold, BlockCNPJOut: true,
		AuthorizedCNPJs: []string{"00000000000191"}, RepeatWindow: MaxRepeatWindow,
	}
	totals := Totals{Balance: -1, Held: 2, MEDHeld: 3, Items: 3, Bookings: 2, Events: 6, Owed: 1, Cases: 2}
	sums := &layout.RefundSums{Original: pix.TxID{9}, Amount: 2_000_000, Settled: 1, InFlight: 2, Held: 3, Excess: 4}
	row := layout.EndToEndRow{Account: 7, ID: pix.TxID{2}, Seq: 299, Members: []layout.Member{{ID: pix.TxID{3}, Seq: 300}}}
	stored := &Stored{Code: 200, Body: []byte(`{"worked":true}`)}
	bodies := map[RecordKind]Body{
		AccountOpened:   {Settings: settings},
		SettingsChanged: {Settings: settings},
		Credited:        {Tx: fullTx(pix.TxTED, pix.StatusCompleted)},
		ChargeCreated:   {Tx: fullTx(pix.TxCharge, pix.StatusActive), Claim: fullClaim(), Stored: stored},
		PaymentReceived: {Tx: fullTx(pix.TxReceipt, pix.StatusCompleted), Events: []pix.EventKind{pix.EventReceived, pix.EventCompleted}},
		PayoutHeld:      {Tx: fullTx(pix.TxPayout, pix.StatusHeld), Claim: fullClaim(), Moved: &Moved{"E99999004202602011200abcdefghijk", row}, Row: &row},
		PayoutAccepted:  {Tx: fullTx(pix.TxPayout, pix.StatusAccepted), Claim: fullClaim(), Stored: stored},
		PayoutSettled:   {Tx: fullTx(pix.TxPayout, pix.StatusSettled), Events: []pix.EventKind{pix.EventPayoutConfirmed, pix.EventCompleted}},
		PayoutRejected:  {Tx: fullTx(pix.TxPayout, pix.StatusRejected), Events: []pix.EventKind{pix.EventPayoutRejected}},
		PayoutRefused:   {Tx: fullTx(pix.TxPayout, pix.StatusRefused), Claim: fullClaim(), Row: &row},
		PayoutFailed:    {Tx: fullTx(pix.TxPayout, pix.StatusFailed), Events: []pix.EventKind{pix.EventPayoutFailed}},
		AnswerKept:      {Claim: fullClaim(), Stored: stored},

		PayoutPending:  {Tx: waited(pix.TxPayout, pix.StatusPending), Claim: fullClaim(), Stored: stored, DueWas: 1772368100000},
		PayoutApproved: {Tx: waited(pix.TxPayout, pix.StatusSending), Moved: &Moved{"E99999004202602011200abcdefghijk", row}, DueWas: 1772368100000},
		PayoutQueued:   {Tx: waited(pix.TxPayout, pix.StatusQueued), Claim: fullClaim(), Stored: stored, Events: []pix.EventKind{pix.EventPayoutQueued}, DueWas: 1772368100000},
		PayoutRequeued: {Tx: waited(pix.TxPayout, pix.StatusQueued), DueWas: 1772368100000},
		PayoutSending:  {Tx: waited(pix.TxPayout, pix.StatusSending), DueWas: 1772368100000},
		PayoutSent:     {Tx: waited(pix.TxPayout, pix.StatusAccepted), DueWas: 1772368100000},
		PayoutSettledLate: {
			Tx: waited(pix.TxPayout, pix.StatusSettled), Events: []pix.EventKind{pix.EventPayoutConfirmed, pix.EventCompleted},
			Deliveries: []Delivery{{Event: 0, Subscription: 1}, {Event: 1, Subscription: 1}, {Event: 1, Subscription: 300}},
		},
		ReturnReceived:          {Tx: waited(pix.TxReturn, pix.StatusCompleted), Events: []pix.EventKind{pix.EventReturnReceived}},
		PayoutReturned:          {Tx: waited(pix.TxPayout, pix.StatusSettled), Events: []pix.EventKind{pix.EventPayoutReturned}},
		PayoutRejectedAfterVoid: {Tx: rejectedAfterVoid()},

		RefundHeld:        {Tx: fullTx(pix.TxRefund, pix.StatusHeld), Claim: fullClaim(), Sums: sums},
		RefundAccepted:    {Tx: fullTx(pix.TxRefund, pix.StatusAccepted), Claim: fullClaim(), Stored: stored},
		RefundSent:        {Tx: waited(pix.TxRefund, pix.StatusAccepted), DueWas: 1772368100000},
		RefundSettled:     {Tx: fullTx(pix.TxRefund, pix.StatusSettled), Sums: sums, Events: []pix.EventKind{pix.EventRefundCompleted}},
		RefundFailed:      {Tx: fullTx(pix.TxRefund, pix.StatusFailed), Sums: sums, Events: []pix.EventKind{pix.EventRefundFailed}},
		RefundSettledLate: {Tx: waited(pix.TxRefund, pix.StatusSettled), Sums: sums, Events: []pix.EventKind{pix.EventRefundCompleted}},

		RefundFound: {Tx: foundRefund(), Sums: sums, Events: []pix.EventKind{pix.EventRefundCompleted}},

		PayoutReleased:  {Tx: released(), Moved: &Moved{"E99999004202602011200abcdefghijk", row}, DueWas: 1772368100000},
		PayoutFound:     {Tx: waited(pix.TxPayout, pix.StatusAccepted), Moved: &Moved{"E99999004202602011200abcdefghijk", row}, Row: &row, Skipped: 300, Suffixes: []string{"abcdefghijk", "bbcdefghijk"}},
		RefundFoundOpen: {Tx: openFound(), Sums: sums, Suffixes: []string{"abcdefghijk"}},

		CaseOpened:      {Sums: sums, Events: []pix.EventKind{pix.EventRefundRequested}},
		CaseWasDefended: {Claim: fullClaim(), Stored: stored},
		CaseWasClosed:   {Sums: sums, Events: []pix.EventKind{pix.EventCaseClosed}},
		CaseWithdrawn:   {Sums: sums, Events: []pix.EventKind{pix.EventCaseClosed}},
		CaseWaits:       {},
		CaseRefunding:   {Sums: sums},
		CaseRefunded:    {Sums: sums},
		CaseRestored:    {Sums: sums},
		CaseReleased:    {Sums: sums},
		CaseReduced:     {Sums: sums},
		CaseRaised:      {Sums: sums, ShortWas: 9},
		CaseRetried:     {ShortWas: 9},
		CaseAwaits:      {ShortWas: 9},
		CaseResumed:     {ShortWas: 9},
		CaseCounted:     {ShortWas: 9, Sums: sums},

		SubscriptionMade:    {Subscription: subscription(SubscriptionActive), Claim: fullClaim(), Stored: stored},
		SubscriptionEnded:   {Subscription: subscription(SubscriptionStopped)},
		SubscriptionDropped: {Subscription: subscription(SubscriptionRemoved)},
		SubscriptionChanged: {Subscription: rotated(), Claim: fullClaim(), Stored: stored},
		SubscriptionTested: {
			Subscription: subscription(SubscriptionActive), Events: []pix.EventKind{pix.EventTest}, Deliveries: []Delivery{{Event: 0, Subscription: 2}},
			Claim: fullClaim(), Stored: stored,
		},
	}
	var out []Record
	for k := range RecordKind(len(kinds)) {
		if !k.isKnown() {
			continue
		}
		b, ok := bodies[k]
		if !ok {
			b = Body{Tx: sample(k)}
		}
		b.Totals = totals
		if k.row().entity == entityCase {
			b.Case, b.Prev, b.HeldWas, b.OwedWas, b.DueWas = fullCase(k), 299, 7, 8, 1772798400000
			if k >= CaseRaised {
				b.Case.Short, b.Case.Parts, b.Case.Operator, b.Case.Unsure, b.Case.Epoch, b.Case.Awaits = 9, 3, "ana", 1772409600000, 2, true
				b.Case.standsAt(300)
			}
			if k == CaseOpened {
				b.Prev, b.HeldWas, b.OwedWas, b.DueWas = 0, 0, 0, 0
			}
			if k == CaseWithdrawn || k == CaseReleased {
				b.Case.Held = 0
				b.Case.standsAt(300)
			}
		}
		if b.Tx != nil {
			b.Prev = 299
			if b.Tx.Kind.Outbound() {
				b.Tx.Transfer.DueKind = b.Tx.due()
			}
			b.Tx.standsAt(300)
		}
		if b.DueWas != 0 && b.Tx != nil {
			b.DueWasKind = layout.DueTransfer
		}
		out = append(out, Record{Account: 7, Seq: 300, Time: 1772366400201, Kind: k, Body: b})
	}
	return out
}

// subscription is a subscription with every field set.
func subscription(s SubscriptionStatus) *Subscription {
	return &Subscription{
		ID: pix.NewSubscriptionID(7, 2, [4]byte{1, 2, 3, 4}), URL: "https://merchant.example/hook?x=1", Events: pix.EventMask(0).With(pix.EventReceived).With(pix.EventCaseClosed),
		Secret: bytes.Repeat([]byte{5}, 32), Status: s, CreatedAt: 1772366400100,
	}
}

// rotated is a subscription that has had two other secrets.
func rotated() *Subscription {
	s := subscription(SubscriptionStopped)
	s.Former = []FormerSecret{{Secret: bytes.Repeat([]byte{3}, 32), Until: 1772452800100}, {Secret: bytes.Repeat([]byte{4}, 32), Until: 1772452800200}}
	return s
}

// sample is a transaction with every field set, in the status that a record of the kind
// gives it. It is used for kinds whose records have a transaction and no other field.
func sample(k RecordKind) *Transaction {
	family, _, _ := strings.Cut(k.String(), ".")
	kind, known := map[string]pix.TxKind{"charge": pix.TxCharge, "payment": pix.TxReceipt, "payout": pix.TxPayout, "refund": pix.TxRefund, "return": pix.TxReturn}[family]
	if !known {
		panic("no golden record of " + k.String())
	}
	return waited(kind, k.row().to)
}

// TestGolden checks the bytes of every record kind and of its rows against golden files. If
// they differ, the engine can no longer read stores that were written before.
func TestGolden(t *testing.T) {
	for _, r := range goldenRecords() {
		goldenRecord(t, r.Kind.String()+".golden", &r)
	}
	for name, r := range laterRecords() {
		goldenRecord(t, name+".golden", &r)
	}
	a := Account{ID: 7, Opened: 5, Settings: *goldenRecords()[0].Settings, Totals: Totals{Balance: 9}}
	golden(t, "head.golden", hex.EncodeToString(a.EncodeHead())+"\n")
	back := Account{ID: 7}
	if err := back.DecodeHead(a.EncodeHead()); err != nil || !reflect.DeepEqual(back, a) {
		t.Errorf("head came back as %+v (%v)", back, err)
	}
}

// laterRecords are records with the fields that their kinds got in later versions, by the names of their
// golden files.
func laterRecords() map[string]Record {
	receipt, charge := fullTx(pix.TxReceipt, pix.StatusCompleted), fullTx(pix.TxCharge, pix.StatusCompleted)
	receipt.Receipt.Txid, charge.Charge.PaidKey = "Order7", "loja@example.com"
	all := map[string]Record{}
	for name, tx := range map[string]*Transaction{"payment.received.txid": receipt, "payment.received.key": charge} {
		tx.standsAt(300)
		all[name] = Record{Account: 7, Seq: 300, Time: 1772366400201, Kind: PaymentReceived, Body: Body{Totals: Totals{Balance: 1}, Tx: tx, Prev: 299}}
	}
	return all
}

// goldenRecord checks the bytes of a record and of its rows, and that it comes back.
func goldenRecord(t *testing.T, name string, r *Record) {
	t.Helper()
	var b strings.Builder
	body := r.Encode()
	fmt.Fprintf(&b, "body %x\n", body)
	for _, row := range Project(nil, r) {
		if row.Value == nil {
			fmt.Fprintf(&b, "delete %x\n", row.Key)
		} else {
			fmt.Fprintf(&b, "set %x %x\n", row.Key, row.Value)
		}
	}
	golden(t, name, b.String())
	back := Record{Account: r.Account, Seq: r.Seq, Time: r.Time, Kind: r.Kind}
	if err := back.Decode(body); err != nil {
		t.Errorf("%v: %v", r.Kind, err)
	}
	if !reflect.DeepEqual(back, *r) {
		t.Errorf("%v: came back as %+v, was %+v", r.Kind, back, r)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: a stored format has changed\n got %s\nwant %s", name, got, want)
	}
}

// TestDecodeNeverGuesses checks that Record.Decode returns an error for unknown kinds,
// unknown fields and damaged bodies.
func TestDecodeNeverGuesses(t *testing.T) {
	good := goldenRecords()[2]
	body := good.Encode()
	unknown, _ := cbormap.Encoding.Marshal(map[int]any{1: map[int]any{1: 0}, 99: 1})
	for name, c := range map[string]struct {
		kind RecordKind
		body []byte
	}{
		"kind 0":        {0, body},
		"newer kind":    {RecordKind(len(kinds)), body},
		"registry kind": {64, body},
		"newer field":   {Credited, unknown},
		"cut":           {Credited, body[:len(body)-1]},
		"trailing":      {Credited, append(append([]byte{}, body...), 0)},
		"empty":         {Credited, nil},
	} {
		r := Record{Kind: c.kind}
		if err := r.Decode(c.body); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}

// TestApplyRefuses checks that Account.Apply returns an error for a record that cannot
// follow the head's newest record.
func TestApplyRefuses(t *testing.T) {
	opened := func() *Account {
		a := &Account{ID: 7}
		d := a.Decide(Facts{decider: OpenAccount{DefaultSettings()}}, Stamp{Reading: pix.At(10)})
		if err := a.Apply(&d.Records[0]); err != nil {
			t.Fatal(err)
		}
		return a
	}
	next := func(a *Account) Record {
		return a.Decide(Facts{decider: &creditFacts{Credit: Credit{Kind: pix.TxTED, Amount: 5}}}, Stamp{Reading: pix.At(10), ID: pix.TxID{1}}).Records[0]
	}
	for name, spoil := range map[string]func(*Record){
		"gap":           func(r *Record) { r.Seq++ },
		"repeated":      func(r *Record) { r.Seq-- },
		"earlier":       func(r *Record) { r.Time = 9 },
		"other account": func(r *Record) { r.Account = 8 },
		"balance":       func(r *Record) { r.Totals.Balance++ },
		"pending":       func(r *Record) { r.Totals.Held++ },
		"med":           func(r *Record) { r.Totals.MEDHeld++ },
		"items":         func(r *Record) { r.Totals.Items++ },
		"bookings":      func(r *Record) { r.Totals.Bookings-- },
		"events":        func(r *Record) { r.Totals.Events++ },
		"second open":   func(r *Record) { r.Kind = AccountOpened },
		"no item":       func(r *Record) { r.Tx = nil },
		"settings":      func(r *Record) { r.Settings = &Settings{} },
		"names itself":  func(r *Record) { r.Prev = r.Seq },
	} {
		a := opened()
		r := next(a)
		spoil(&r)
		before := *a
		if err := a.Apply(&r); err == nil {
			t.Errorf("%s: applied", name)
		}
		if !reflect.DeepEqual(*a, before) {
			t.Errorf("%s: the head changed", name)
		}
	}
	a := opened()
	r := next(a)
	if err := a.Apply(&r); err != nil || a.Totals.Balance != 5 {
		t.Errorf("unspoiled: %v, balance %d", err, a.Totals.Balance)
	}
}

// TestGoldenDeliveryStatus checks the row that no record derives, with every field and with as
// few as there can be, the keys that the oldest versions did not write among them.
func TestGoldenDeliveryStatus(t *testing.T) {
	for name, s := range map[string]layout.DeliveryStatus{
		"delivery_status.golden": {
			Record: 9, Event: 1, CreatedAt: 1772366400000, Due: 1772366460000, Why: "the receiver answered 410", Since: 1772366430000,
			Attempts: []layout.Attempt{{At: 1772366400100, Took: 15_000, Err: "no answer in time"}, {At: 1772366420000, Took: 3, Status: 500}},
		},
		"delivery_status.least.golden": {Record: 9, CreatedAt: 1772366400000},
	} {
		golden(t, name, hex.EncodeToString(s.Encode())+"\n")
		back, err := layout.DecodeDeliveryStatus(s.Encode())
		if err != nil || !reflect.DeepEqual(*back, s) {
			t.Errorf("%s: came back as %+v (%v)", name, back, err)
		}
	}
}
