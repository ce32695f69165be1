package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

const storiesDir = "testdata/stories"

// bench runs one account by a story, a text file: each command is a line, and the lines
// below it are the command's expected result.
type bench struct {
	*harness
	ids   map[string]pix.TxID
	cases map[string]pix.CaseID

	subscriptions map[string]pix.SubscriptionID
	seen          map[RefusalCode]bool

	kept, lost *saved // what was kept by "snapshot", and what was lost by "lose"
}

func newBench(t *testing.T) *bench {
	h := newHarness(t)
	h.ahead = 0 // stories state times and ids; those of clock.txt set the clock behind
	return &bench{harness: h, ids: map[string]pix.TxID{}, cases: map[string]pix.CaseID{}, subscriptions: map[string]pix.SubscriptionID{}, seen: map[RefusalCode]bool{}}
}

func (b *bench) stepAs(c Command, inactive bool) Decision {
	d, err := b.try(c, inactive)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// tell describes the decision of a step, in lines of text.
func (b *bench) tell(d Decision) string {
	var out strings.Builder
	for i := range d.Records {
		r := &d.Records[i]
		fmt.Fprintf(&out, "%d %v%s\n", r.Seq, r.Kind, b.reported(r))
	}
	for _, l := range d.Launch {
		fmt.Fprintf(&out, "child starts: %s\n", goalNames[l.Goal])
	}
	b.answer(&out, &d)
	if c := d.Case; c != nil {
		fmt.Fprintf(&out, "case: %s\n", b.caseLine(c))
	}
	for _, a := range d.Alerts {
		fmt.Fprintf(&out, "alert %s: %s\n", a.Kind, a.Message)
	}
	fmt.Fprintf(&out, "balance %d pending %d available %d",
		b.account.Totals.Balance, b.account.Totals.Held, b.account.Totals.Available())
	if t := &b.account.Totals; t.MEDHeld != 0 {
		fmt.Fprintf(&out, " med held %d owed %d", t.MEDHeld, t.Owed)
	}
	out.WriteString("\n")
	return out.String()
}

var goalNames = [...]string{"pay", "resume", "retry", "send", "clear", "void", "find"}

func (b *bench) reported(r *Record) string {
	if r.Case != nil {
		s := ": " + b.caseLine(r.Case)
		if len(r.Events) > 0 {
			s += eventsLine(r)
		}
		return s
	}
	if k := r.Subscription; k != nil {
		return subscriptionLine(k) + testLine(r)
	}
	if r.Tx == nil {
		return ""
	}
	s := fmt.Sprintf(": %s %d fee %d", r.Tx.Status, r.Tx.Amount, r.Tx.Fee)
	if r.Tx.EndToEnd != "" {
		s += " " + r.Tx.EndToEnd
	}
	if r.Tx.Kind == pix.TxRefund {
		s += " " + r.Tx.Refund.Code
	}
	if r.Sums != nil {
		s += sumsLine(r.Sums)
	}
	if r.Tx.Payout.Repeat {
		s += " repeats"
	}
	if d := r.Tx.Payout.DuplicateOf; d != nil && r.Tx.ReasonCode == ReasonDuplicate {
		for name, id := range b.ids {
			if id == *d {
				s += " duplicate of " + name
			}
		}
	}
	if r.Tx.Transfer.RejectedAfterVoid {
		s += " rejected-after-void"
	}
	if r.Tx.Transfer.Doubt {
		s += " in doubt"
	}
	if len(r.Tx.Payout.Former) > 0 {
		s += " was " + strings.Join(r.Tx.Payout.Former, " and ")
	}
	if returned := r.Tx.Payout.Returned + r.Tx.Return.Returned; returned != 0 {
		s += fmt.Sprintf(" returned %d", returned)
	}
	if r.Tx.ReasonCode != "" {
		s += " " + r.Tx.ReasonCode
	}
	s += namesLine(r.Tx)
	if len(r.Events) > 0 {
		s += eventsLine(r)
	}
	return s
}

// namesLine describes by what names a payer or the merchant knows a received payment or a refund.
func namesLine(t *Transaction) (s string) {
	for name, v := range map[string]string{"txid": t.Receipt.Txid, "paid to": t.Charge.PaidKey} {
		if v != "" {
			s += " " + name + " " + v
		}
	}
	if t.Kind == pix.TxRefund && t.ExternalID != "" {
		s += " external " + t.ExternalID
	}
	return s
}

// answer describes the answer that the asker of a command gets.
func (b *bench) answer(out *strings.Builder, d *Decision) {
	if e := d.Earlier; e != nil && e.Stored == nil {
		fmt.Fprintf(out, "waits for the first request, other body: %v\n", e.Other)
	} else if e != nil {
		fmt.Fprintf(out, "stored: %d %s, replay: true, other body: %v\n", e.Stored.Code, e.Stored.Body, e.Other)
	}
	if d.Refusal != nil {
		out.WriteString(b.refused(d.Refusal))
	}
	if d.Repeat {
		out.WriteString("nothing new\n")
	}
	for i := range d.Records {
		if s := d.Records[i].Stored; s != nil {
			fmt.Fprintf(out, "stored: %d %s, replay: false, other body: false\n", s.Code, s.Body)
		}
	}
}

func (b *bench) refused(r *Refusal) string {
	b.seen[r.Code] = true
	out := fmt.Sprintf("refused: %v", r.Code)
	if r.Field != "" {
		out += fmt.Sprintf(" (%s)", r.Field)
	}
	if r.Ceiling != 0 {
		out += fmt.Sprintf(" ceiling %d", r.Ceiling)
	}
	return out + "\n"
}

// args are the "name=value" words of a story's line.
type args map[string]string

func (a args) amount(name string) pix.Amount {
	n, err := strconv.ParseInt(a[name], 10, 64)
	if err != nil {
		return 0
	}
	return pix.Amount(n)
}

// centavos is the amount in the argument of that name.
func (a args) centavos() pix.Amount { return a.amount("centavos") * pix.UnitsPerCentavo }

func (b *bench) run(d *datadriven.TestData) string {
	a := args{}
	for _, arg := range d.CmdArgs {
		a[arg.Key] = strings.Join(arg.Vals, ",")
	}
	switch d.Cmd {
	case "open":
		return b.tell(b.step(OpenAccount{Settings: settingsOf(a)}))
	case "settings":
		return b.settings(a)
	case "credit":
		return b.tell(b.step(Credit{Kind: creditKind(a["type"]), Amount: a.amount("amount"), Reference: a["ref"], Description: text(a["description"])}))
	case "charge":
		return b.charge(a)
	case "receive":
		return b.receive(a)
	case "payout":
		return b.payout(a)
	case "outcome":
		if _, known := b.ids[a["of"]]; !known {
			_, err := b.try(b.outcome(a), false)
			return fmt.Sprintln(err)
		}
		return b.tell(b.stepAs(b.outcome(a), a["inactive"] != ""))
	case "name-refund": // names the newest refund that was held
		for i := range b.records {
			if r := &b.records[i]; r.Kind == RefundHeld {
				b.ids[a["as"]] = r.Tx.ID
			}
		}
		return ""
	case "refund":
		return b.refund(a)
	case "subscribe":
		return b.subscribe(a)
	case "unsubscribe", "gone":
		return b.tell(b.step(EndSubscription{ID: b.subscriptions[a["of"]], Stop: d.Cmd == "gone", URL: a["at"]}))
	case "change-webhook":
		return b.tell(b.step(b.changeWebhook(a)))
	case "rotate-secret":
		return b.tell(b.step(RotateSecret{ID: b.subscriptions[a["of"]], Secret: bytes.Repeat([]byte(a["secret"]), 32), Claim: claimFor(a)}))
	case "test-webhook":
		return b.tell(b.step(TestSubscription{ID: b.subscriptions[a["of"]], Claim: claimFor(a)}))
	case "report":
		return b.report(a)
	case "withdraw":
		return b.withdraw(a)
	case "defend":
		return b.defend(a)
	case "restored": // the journal was restored, and its gap accepted
		b.terms.Epoch, b.terms.GapEnd, b.terms.GapOpen = b.terms.Epoch+1, b.now, a["open"] != ""
		return ""
	case "snapshot":
		b.kept = b.save()
		return ""
	case "lose": // the journal is restored from the snapshot
		b.lose()
		return b.tell(Decision{})
	case "find": // what the scheme has of a transaction that was lost
		return b.told(b.find(a))
	case "resume-case":
		return b.resume(a)
	case "retry-case":
		return b.told(RetryCase{ID: b.cases[a["id"]], Operator: a["operator"]})
	case "analyse":
		return b.analyse(a)
	case "due-case":
		return b.dueCase(a)
	case "silence":
		b.terms.MEDWaits = a["waits"] != ""
		return ""
	case "recall":
		return b.tell(b.step(Recall{Claim: claimFor(a)}))
	case "keep":
		return b.tell(b.step(KeepAnswer{Claim: claimFor(a), Stored: Stored{Code: 200, Body: []byte(a["answer"])}}))
	case "wait":
		ms, _ := strconv.ParseInt(a["ms"], 10, 64)
		b.now += pix.Millis(ms)
		return b.now.String() + "\n"
	case "clock":
		b.doubted, b.behind = a["doubted"] != "", pix.Millis(a.amount("behind"))
		return ""
	case "forget-end-to-end":
		for k := range b.rows {
			if k[0] == 'e' {
				delete(b.rows, k)
			}
		}
		return ""
	case "stale-end-to-end": // the end-to-end row as it was written with the hold, without later changes
		held := b.held(b.ids[a["of"]])
		for _, row := range Project(nil, held) {
			if layout.RowName(row.Key) == "end-to-end" {
				b.rows[string(row.Key)] = row.Value
			}
		}
		return ""
	case "restart":
		b.restart()
		return b.tell(Decision{})
	case "resume", "due":
		return b.due(a, false)
	case "retry":
		return b.due(a, true)
	case "approve", "decline":
		return b.decide(d.Cmd, a)
	case "return":
		return b.told(ReceiveReturn{
			ID: b.ids[a["of"]], EndToEnd: b.noticeID(a), ReturnID: "D" + endToEnd(a["id"])[1:], Amount: a.amount("amount"), Reason: a["code"],
		})
	}
	b.t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

// told describes the decision about a notice of the scheme, or the error that makes the
// scheme send the notice again.
func (b *bench) told(c Command) string {
	d, err := b.try(c, false)
	if err != nil {
		return fmt.Sprintln(err)
	}
	return b.tell(d)
}

// text returns s, except that "long" gives a text above the limit of 140 characters.
func text(s string) string {
	if s == "long" {
		return strings.Repeat("ç", 141)
	}
	return s
}

func settingsOf(a args) Settings {
	s := DefaultSettings()
	s.Name, s.Document = "Loja", "12345678901"
	s.CashInFee = Fee{Fixed: a.amount("in"), BPS: int64(a.amount("in-bps"))}
	s.CashOutFee = Fee{Fixed: a.amount("out"), BPS: int64(a.amount("out-bps"))}
	s.CashOutCeiling = a.amount("ceiling")
	s.BlockCNPJOut = a["block-cnpj"] != ""
	if c := a["authorized"]; c != "" {
		s.AuthorizedCNPJs = []string{c}
	}
	if n, ok := a["threshold"]; ok {
		threshold := args{"n": n}.amount("n")
		s.ApprovalThreshold = &threshold
	}
	if w := a.amount("window"); w != 0 {
		s.RepeatWindow = pix.Millis(w)
	}
	if n, ok := a["name"]; ok {
		s.Name = n
	}
	if n, ok := a["document"]; ok {
		s.Document = n
	}
	return s
}

func (b *bench) settings(a args) string {
	s := settingsOf(a)
	if r := s.Normalise(); r != nil {
		return b.refused(r)
	}
	return b.tell(b.step(ChangeSettings{Settings: s}))
}

func creditKind(s string) pix.TxKind {
	return map[string]pix.TxKind{"ted": pix.TxTED, "internal": pix.TxInternal}[s]
}

func claimFor(a args) *Claim {
	if a["key"] == "" {
		return nil
	}
	c := &Claim{}
	copy(c.Scope[:], a["key"])
	copy(c.BodyHash[:], a["body"])
	return c
}

// storyKey is the account's own PIX key.
const storyKey = "1f0c3a52-7f1a-4c59-9d3a-0a6f0b8f7a11"

func (b *bench) charge(a args) string {
	e := b.step(CreateCharge{
		Amount: a.amount("amount"), Description: text(a["description"]), ExternalID: a["external"], Claim: claimFor(a),
		Key: pix.Key{Type: pix.KeyEVP, Value: storyKey},
	})
	if e.Tx != nil {
		b.ids[a["as"]] = e.Tx.ID
	}
	return b.tell(e)
}

func (b *bench) receive(a args) string {
	txid := a["txid"]
	if id, ok := b.ids[txid]; ok {
		txid = id.Public(pix.TxCharge)
	}
	c := ReceivePayment{EndToEnd: endToEnd(a["e2e"]), Amount: a.amount("amount"), TxID: txid, Key: cmp.Or(a["key"], storyKey), PayerDocument: a["payer"]}
	if _, told := a["late"]; told { // milliseconds between the scheme's date and now
		c.PaidAt = b.now - pix.Millis(a.amount("late"))
	}
	d := b.step(c)
	if a["as"] != "" && d.Tx != nil {
		b.ids[a["as"]] = d.Tx.ID
	}
	return b.tell(d)
}

// endToEnd makes a full end-to-end id that ends in tail.
func endToEnd(tail string) string {
	return "E99999003202603011200" + fmt.Sprintf("%011s", tail)
}

func (b *bench) payout(a args) string {
	c := RequestPayout{
		Amount: a.centavos(), Description: a["description"], ExternalID: a["external"], RecipientISPB: a["ispb"], EndToEnd: a["e2e"],
		Purpose: a["purpose"], Claim: claimFor(a),
	}
	ok := false
	if c.Key, ok = pix.DetectKey(a["pix"]); a["pix-type"] != "" {
		typ, _ := pix.ParseKeyType(a["pix-type"])
		c.Key, ok = pix.ParseKey(typ, a["pix"])
	}
	if !ok {
		b.t.Fatalf("%s is no PIX key", a["pix"])
	}
	if doc, ok := pix.CleanDocument(a["document"]); ok {
		c.GivenDocument = doc
	}
	b.ours = a["ours"] != ""
	if a["busy"] != "" {
		_, err := b.try(c, false)
		return fmt.Sprintln(err)
	}
	e := b.step(c)
	if len(e.Launch) > 0 {
		b.ids[a["as"]] = e.Launch[0].Tx.ID
	} else if e.Tx != nil {
		b.ids[a["as"]] = e.Tx.ID
	}
	return b.tell(e)
}

// held finds the record in which a payout's or refund's money was held.
func (b *bench) held(id pix.TxID) *Record {
	for i := range b.records {
		if r := &b.records[i]; slices.Contains([]RecordKind{PayoutHeld, RefundHeld, PayoutFound, RefundFoundOpen}, r.Kind) && r.Tx.ID == id {
			return r
		}
	}
	b.t.Fatalf("%v was never held", id)
	return nil
}

// ofFields are the refusals of a request's fields, before any account is asked. What is said of an
// end-to-end id that another account has used, TestForeignEndToEnd shows.
var ofFields = []RefusalCode{
	RefuseCPF, RefuseEndToEnd, RefuseKeyInvalid, RefuseKeyAmbiguous, RefuseKeyType, RefuseRecipientISPB, RefusePurpose, RefuseOriginal, RefuseReason,
	RefuseDefense, RefuseAnalysis, RefuseWebhook,
}

// TestScenarios runs the stories. At the end of each story it compares the rows that were
// written with the rows that the records alone make.
func TestScenarios(t *testing.T) {
	seen := map[RefusalCode]bool{}
	files, err := os.ReadDir(storiesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			b := newBench(t)
			b.seen = seen
			datadriven.RunTest(t, filepath.Join(storiesDir, f.Name()), func(t *testing.T, d *datadriven.TestData) string {
				b.t = t
				if d.Cmd == "fresh" {
					b = newBench(t)
					b.seen = seen
					return ""
				}
				return b.run(d)
			})
			if got, want := b.dump(), b.rebuilt(); got != want {
				t.Errorf("rows written:\n%s\nrows rebuilt from the records:\n%s", got, want)
			}
		})
	}
	for _, c := range Refusals() {
		if !seen[c] && !slices.Contains(ofFields, c) {
			t.Errorf("no story shows the refusal %q", c)
		}
	}
}
