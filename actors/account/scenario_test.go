package account

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pixd/actors/ledger"
	"pixd/wal"
)

// bench drives one machine by hand: a command a line, what came of it below.
type bench struct {
	t       *testing.T
	store   *memory
	machine *Machine
	now     ledger.Millis
	behind  ledger.Millis // how far engine time is behind the newest record
	doubted bool
	entropy uint64
	durable bool // every entry is durable at once
	ids     map[string]ledger.TxID
	seen    map[ledger.RefusalCode]bool
}

var testConfig = &Config{Renderer: renderForTest, HeadEvery: 8, Terms: testTerms, Recent: NewRecent(recentSlots)}

var testTerms = ledger.Terms{Secret: []byte("a secret of the test's own"), OwnISPB: "99999004", OrphanAfter: 30 * 60_000, QueueTTL: 2 * 3_600_000, ApprovalTTL: 168 * 3_600_000}

// rendering is a function as a Renderer.
type rendering func(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool)

// Render implements Renderer.
func (f rendering) Render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) { return f(a, s) }

// renderForTest shows the answer in a line.
var renderForTest = rendering(func(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
	if a.Refusal != nil {
		return ledger.Stored{}, false
	}
	code := 200
	switch a.Tx.Status {
	case ledger.StatusAccepted, ledger.StatusRejected, ledger.StatusQueued, ledger.StatusPending:
		code = 202
	}
	return ledger.Stored{Code: code, Body: fmt.Appendf(nil, "%s style %d", a.Tx.Status, s)}, true
})

func statusName(s ledger.TxStatus) string { return s.String() }

const testAccount = ledger.AccountID(7)

// startOfTest is 2026-03-01T12:00:00Z.
const startOfTest = ledger.Millis(1772366400000)

func newBench(t *testing.T) *bench {
	return &bench{
		t: t, store: newMemory(), machine: newMachine(testConfig, testAccount), now: startOfTest,
		durable: true, ids: map[string]ledger.TxID{}, seen: map[ledger.RefusalCode]bool{},
	}
}

func (b *bench) draw() (c [10]byte) {
	b.entropy++
	binary.BigEndian.PutUint64(c[2:], b.entropy*0x9E3779B97F4A7C15)
	return c
}

func (b *bench) reading() ledger.Reading {
	return ledger.Reading{Time: b.now, Clock: b.now - b.behind, Doubted: b.doubted}
}

func (b *bench) step(c ledger.Command) Effects { return b.stepAs(c, false) }

func (b *bench) stepAs(c ledger.Command, inactive bool) Effects {
	if b.durable {
		b.store.durable = b.store.ticket
	}
	e, err := b.machine.Step(b.store, Call{Command: c, Now: b.reading(), Entropy: b.draw(), Durable: b.store.durable, Inactive: inactive})
	if err != nil {
		b.t.Fatal(err)
	}
	b.submit(&e)
	return e
}

func (b *bench) submit(e *Effects) {
	b.machine.Submitted(b.store.append(&e.Entry))
}

// tell is what a step came to, in lines.
func (b *bench) tell(e Effects) string {
	var out strings.Builder
	for _, s := range e.Entry.Records {
		r, err := b.store.Record(testAccount, s.Seq)
		if err != nil {
			b.t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d %v%s\n", r.Seq, r.Kind, b.reported(r))
	}
	for _, j := range e.Start {
		fmt.Fprintf(&out, "child starts: %s\n", goalNames[j.Goal])
	}
	if e.Join {
		fmt.Fprintf(&out, "waits for the first request, other body: %v\n", e.Other)
	}
	if e.Answer != nil {
		out.WriteString(b.answer(e.Answer))
	}
	for _, a := range e.Alerts {
		fmt.Fprintf(&out, "alert %s: %s\n", a.Kind, a.Message)
	}
	fmt.Fprintf(&out, "balance %d pending %d available %d\n",
		b.machine.head.Totals.Balance, b.machine.head.Totals.Held, b.machine.head.Totals.Available())
	return out.String()
}

var goalNames = [...]string{"pay", "resume", "retry", "send", "clear", "void"}

func (b *bench) reported(r *ledger.Record) string {
	if r.Tx == nil {
		return ""
	}
	s := fmt.Sprintf(": %s %d fee %d", statusName(r.Tx.Status), r.Tx.Amount, r.Tx.Fee)
	if r.Tx.EndToEnd != "" {
		s += " " + r.Tx.EndToEnd
	}
	if r.Tx.Repeat {
		s += " repeats"
	}
	if d := r.Tx.DuplicateOf; d != nil && r.Tx.ReasonCode == ledger.ReasonDuplicate {
		for name, id := range b.ids {
			if id == *d {
				s += " duplicate of " + name
			}
		}
	}
	if r.Tx.RejectedAfterVoid {
		s += " rejected-after-void"
	}
	if r.Tx.Doubt {
		s += " in doubt"
	}
	if len(r.Tx.Former) > 0 {
		s += " was " + strings.Join(r.Tx.Former, " and ")
	}
	if r.Tx.Returned != 0 {
		s += fmt.Sprintf(" returned %d", r.Tx.Returned)
	}
	if r.Tx.ReasonCode != "" {
		s += " " + r.Tx.ReasonCode
	}
	if len(r.Events) > 0 {
		s += fmt.Sprintf(" events %v to %d", r.Events, r.Totals.Events)
	}
	return s
}

func (b *bench) answer(a *ledger.Answer) string {
	var out strings.Builder
	if r := a.Refusal; r != nil {
		b.seen[r.Code] = true
		fmt.Fprintf(&out, "refused: %v", r.Code)
		if r.Field != "" {
			fmt.Fprintf(&out, " (%s)", r.Field)
		}
		if r.Ceiling != 0 {
			fmt.Fprintf(&out, " ceiling %d", r.Ceiling)
		}
		out.WriteString("\n")
	}
	if a.Repeat {
		out.WriteString("nothing new\n")
	}
	if s := a.Stored; s != nil {
		fmt.Fprintf(&out, "stored: %d %s, replay: %v, other body: %v\n", s.Code, s.Body, a.Replay, a.Mismatch)
	}
	return out.String()
}

// args reads "name=value" words.
type args map[string]string

func (a args) amount(name string) ledger.Amount {
	n, err := strconv.ParseInt(a[name], 10, 64)
	if err != nil {
		return 0
	}
	return ledger.Amount(n)
}

func (b *bench) run(d *datadriven.TestData) string {
	a := args{}
	for _, arg := range d.CmdArgs {
		a[arg.Key] = strings.Join(arg.Vals, ",")
	}
	switch d.Cmd {
	case "open":
		return b.tell(b.step(ledger.OpenAccount{Settings: settingsOf(a)}))
	case "settings":
		return b.settings(a)
	case "credit":
		return b.tell(b.step(ledger.Credit{Kind: creditKind(a["type"]), Amount: a.amount("amount"), Reference: a["ref"], Description: text(a["description"])}))
	case "charge":
		return b.charge(a)
	case "receive":
		return b.receive(a)
	case "payout":
		return b.payout(a)
	case "outcome":
		if _, known := b.ids[a["of"]]; !known {
			_, err := b.machine.Step(b.store, Call{Command: b.outcome(a), Now: b.reading()})
			return fmt.Sprintln(err)
		}
		return b.tell(b.stepAs(b.outcome(a), a["inactive"] != ""))
	case "hold-med":
		b.machine.head.Totals.MEDHeld += a.amount("amount")
		return b.tell(Effects{})
	case "recall":
		return b.tell(b.step(ledger.Recall{Claim: claimFor(a)}))
	case "keep":
		return b.tell(b.step(ledger.KeepAnswer{Claim: claimFor(a), Stored: ledger.Stored{Code: 200, Body: []byte(a["answer"])}}))
	case "wait":
		ms, _ := strconv.ParseInt(a["ms"], 10, 64)
		b.now += ledger.Millis(ms)
		return b.now.String() + "\n"
	case "clock":
		b.doubted, b.behind = a["doubted"] != "", ledger.Millis(a.amount("behind"))
		return ""
	case "forget-end-to-end":
		for k := range b.store.rows {
			if k[0] == 'e' {
				delete(b.store.rows, k)
			}
		}
		return ""
	case "stale-end-to-end": // the row as the hold wrote it, whatever has come since
		held := b.held(b.ids[a["of"]])
		for _, row := range ledger.Project(nil, held) {
			if ledger.IsEndToEnd(row.Key) {
				b.store.rows[string(row.Key)] = row.Value
			}
		}
		return ""
	case "restart":
		return b.restart()
	case "resume", "due":
		return b.due(a, false)
	case "retry":
		return b.due(a, true)
	case "approve", "decline":
		return b.decide(d.Cmd, a)
	case "return":
		return b.tell(b.step(ledger.ReceiveReturn{
			ID: b.ids[a["of"]], EndToEnd: b.noticeID(a), ReturnID: "D" + endToEnd(a["id"])[1:], Amount: a.amount("amount"), Reason: a["code"],
		}))
	}
	b.t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

// text makes "long" a text over the limit.
func text(s string) string {
	if s == "long" {
		return strings.Repeat("ç", 141)
	}
	return s
}

func settingsOf(a args) ledger.Settings {
	s := ledger.DefaultSettings()
	s.Name, s.Document = "Loja", "12345678901"
	s.CashInFee = ledger.Fee{Fixed: a.amount("in"), BPS: int64(a.amount("in-bps"))}
	s.CashOutFee = ledger.Fee{Fixed: a.amount("out"), BPS: int64(a.amount("out-bps"))}
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
		s.RepeatWindow = ledger.Millis(w)
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
		return b.answer(&ledger.Answer{Refusal: r})
	}
	return b.tell(b.step(ledger.ChangeSettings{Settings: s}))
}

func creditKind(s string) ledger.TxKind {
	return map[string]ledger.TxKind{"ted": ledger.TxTED, "internal": ledger.TxInternal}[s]
}

func claimFor(a args) *ledger.Claim {
	if a["key"] == "" {
		return nil
	}
	c := &ledger.Claim{}
	copy(c.Scope[:], a["key"])
	copy(c.BodyHash[:], a["body"])
	return c
}

func (b *bench) charge(a args) string {
	e := b.step(ledger.CreateCharge{
		Amount: a.amount("amount"), Description: text(a["description"]), ExternalID: a["external"], Claim: claimFor(a),
		Key: ledger.Key{Type: ledger.KeyEVP, Value: "1f0c3a52-7f1a-4c59-9d3a-0a6f0b8f7a11"},
	})
	if e.Answer != nil && e.Answer.Tx != nil {
		b.ids[a["as"]] = e.Answer.Tx.ID
	}
	return b.tell(e)
}

func (b *bench) receive(a args) string {
	txid := a["txid"]
	if id, ok := b.ids[txid]; ok {
		txid = id.Public(ledger.TxCharge)
	}
	return b.tell(b.step(ledger.ReceivePayment{EndToEnd: endToEnd(a["e2e"]), Amount: a.amount("amount"), TxID: txid, Key: "k", PayerDocument: a["payer"]}))
}

// endToEnd makes a whole end-to-end id of its last characters.
func endToEnd(tail string) string {
	return "E99999003202603011200" + fmt.Sprintf("%011s", tail)
}

func text1(a args, name string) ledger.Text {
	v, ok := a[name]
	return ledger.Text{Value: text(v), Given: ok, Wrong: v == "wrong"}
}

func (b *bench) payout(a args) string {
	form := ledger.PayoutForm{
		Centavos: int64(a.amount("centavos")), Key: text1(a, "pix"), KeyType: text1(a, "pix-type"),
		Description: text1(a, "description"), ExternalID: text1(a, "external"), RecipientISPB: text1(a, "ispb"),
		EndToEnd: text1(a, "e2e"), Purpose: text1(a, "purpose"), RecipientDocument: text1(a, "document"),
	}
	c, r := form.Parse()
	if r != nil {
		return b.answer(&ledger.Answer{Refusal: r})
	}
	c.Claim, c.KeyIsOurs = claimFor(a), a["ours"] != ""
	e := b.step(c)
	if len(e.Start) > 0 {
		b.ids[a["as"]] = e.Start[0].Tx.ID
	} else if e.Answer != nil && e.Answer.Tx != nil {
		b.ids[a["as"]] = e.Answer.Tx.ID
	}
	return b.tell(e)
}

// restart loses the machine and makes it again from the store.
func (b *bench) restart() string {
	m, err := Restore(testConfig, testAccount, b.store)
	if err != nil {
		return err.Error() + "\n"
	}
	if m.head.Totals != b.machine.head.Totals || m.sum != b.machine.sum || m.head.Seq != b.machine.head.Seq {
		b.t.Errorf("restored %+v, was %+v", m.head, b.machine.head)
	}
	b.machine = m
	return b.tell(Effects{})
}

// held is the record that holds a payout.
func (b *bench) held(id ledger.TxID) *ledger.Record {
	for _, r := range b.store.records[wal.Stream(testAccount)] {
		if got, _ := b.store.Record(testAccount, r.Seq); got.Tx != nil && got.Tx.ID == id && got.Kind == ledger.PayoutHeld {
			return got
		}
	}
	b.t.Fatalf("%v was never held", id)
	return nil
}

// TestScenarios runs the stories. Each ends with the rows that the records
// alone make, compared with those that were written on the way.
func TestScenarios(t *testing.T) {
	seen := map[ledger.RefusalCode]bool{}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		t.Run(f.Name(), func(t *testing.T) {
			b := newBench(t)
			b.seen = seen
			datadriven.RunTest(t, filepath.Join("testdata", f.Name()), func(t *testing.T, d *datadriven.TestData) string {
				b.t = t
				if d.Cmd == "fresh" {
					b = newBench(t)
					b.seen = seen
					return ""
				}
				return b.run(d)
			})
			if got, want := b.store.dump('h'), b.store.rebuilt().dump('h'); got != want {
				t.Errorf("rows written:\n%s\nrows rebuilt from the records:\n%s", got, want)
			}
		})
	}
	for _, c := range ledger.Refusals() {
		if !seen[c] && c != ledger.RefuseCPF {
			t.Errorf("no story shows the refusal %q", c)
		}
	}
}
