package transfer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

var job = Job{Account: 7, Tx: &ledger.Transaction{ID: pix.TxID{1}, Kind: pix.TxPayout, Status: pix.StatusHeld, Amount: 100, Fee: 7, EndToEnd: "E99999004202603011200abcdefghijk", Description: "coffee", Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}, RecipientISPB: "18236120", Purpose: "rent"}}}

// refunding is a job whose transaction is a refund.
var refunding = Job{Account: 7, Tx: &ledger.Transaction{
	ID: pix.TxID{2}, Kind: pix.TxRefund, Status: pix.StatusHeld, Amount: 100, EndToEnd: "D99999004202603011200abcdefghijk", Description: "sorry",
	Counterparty: ana, Refund: ledger.RefundPart{OriginalEndToEnd: "E60701190202603011159abcdefghijk", Code: "AM09"},
}}

var ana = pix.Party{Name: "Ana", Document: "98765432100", ISPB: "18236120"}

var actNames = [...]string{"", "lookup", "submit", "ask", "pause", "report"}

var goals = map[string]ledger.Goal{
	"payout": ledger.GoalPay, "in-doubt": ledger.GoalResume, "retry": ledger.GoalRetry, "send": ledger.GoalSend, "clear": ledger.GoalClear, "void": ledger.GoalVoid, "find": ledger.GoalFind,
}

var progress = map[string]scheme.Progress{
	"unknown": scheme.Unknown, "pending": scheme.Pending, "settled": scheme.Settled, "rejected": scheme.Rejected,
}

// reply makes a Reply of a line such as "rejected AC03", "refused provider_rejected",
// "failed expired" or "owner".
func reply(t *testing.T, line string) (r Reply) {
	words := strings.Fields(line)
	for i := 0; i < len(words); i++ {
		p, isState := progress[words[i]]
		switch {
		case words[i] == "owner":
			r.Owner = ana
		case words[i] == "failed":
			r.Failed = true
		case words[i] == "expired":
			r.Expired = true
		case words[i] == "refused":
			i++
			code, ok := ledger.ParseRefusal(words[i])
			if !ok {
				t.Fatalf("no such refusal: %s", words[i])
			}
			r.Refused = &scheme.Refused{Code: code}
		case isState && p == scheme.Rejected:
			i++
			r.State = scheme.State{Progress: p, Reason: words[i]}
		case isState:
			r.State.Progress = p
		case words[i] != "ok":
			t.Fatalf("no such reply: %s", words[i])
		}
	}
	return r
}

// said describes a result in one line.
func said(o *ledger.ResolveTransfer) string {
	s := [...]string{
		"nothing", "accepted", "settled", "rejected " + o.Reason, "refused " + o.Refusal.String(),
		"limited " + o.Refusal.String(), "sending", "voided", "not heard", "open",
	}[o.Result]
	if o.Result == ledger.TransferIsOpen && o.Refusal != ledger.RefuseNothing {
		s += " after " + o.Refusal.String()
	}
	if o.Doubt {
		s += " in doubt"
	}
	if o.Owner.Name != "" {
		s += " to " + o.Owner.Name
	}
	return strings.TrimSpace(s)
}

// TestStories checks which acts the machine returns for each list of replies in testdata.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			j := job
			goal, ok := goals[strings.TrimPrefix(d.Cmd, "refund-")]
			if strings.HasPrefix(d.Cmd, "refund-") {
				j = refunding
			}
			if of, isCase := strings.CutPrefix(d.Cmd, "case-"); isCase {
				j, goal, ok = refunding, goals[of], true
				forCase := *j.Tx
				forCase.Refund.Case, j.Tx = &pix.CaseID{4}, &forCase
			}
			if !ok {
				t.Fatalf("%s: no goal %q", d.Pos, d.Cmd)
			}
			j.Goal = goal
			m := New(j)
			var b strings.Builder
			act := m.Begin()
			for line := range strings.Lines(d.Input) {
				fmt.Fprintf(&b, "%s: %s", actNames[act], line)
				if !strings.HasSuffix(line, "\n") {
					b.WriteByte('\n')
				}
				act = m.Step(reply(t, line))
			}
			b.WriteString(actNames[act])
			if act == Report {
				b.WriteString(": " + said(&m.Outcome))
			}
			return b.String() + "\n"
		})
	})
}

// replies lists the possible replies to each act.
var replies = map[Act][]string{
	Lookup: {"owner", "refused dict_key_not_found", "refused dict_lookup_failed", "refused dict_rate_limited", "failed", "owner expired", "failed expired"},
	Submit: {"pending", "settled", "rejected AC03", "unknown", "refused provider_rejected", "refused dict_bucket_exhausted", "failed", "failed expired", "pending expired", "unknown expired"},
	Ask:    {"pending", "settled", "rejected AC03", "unknown", "refused provider_rejected", "failed", "failed expired", "unknown expired", "settled expired"},
	Pause:  {"ok", "ok expired"},
}

// walk is one sequence of replies given to a machine, and the acts that the machine
// returned.
type walk struct {
	t        *testing.T
	reported []string
	acts     []Act
	maySee   bool   // true: a submit may have reached the scheme
	word     string // the scheme's last answer about the payment's state
	unknown  bool   // the scheme answered that it does not know the payment
	ended    int
}

// again gives the walk's replies to a new machine, and returns the machine and its next
// act.
func (w *walk) again(e ledger.Goal) (*Machine, Act) {
	j := job
	j.Goal = e
	m := New(j)
	act := m.Begin()
	for _, line := range w.reported {
		act = m.Step(reply(w.t, line))
	}
	return m, act
}

// TestEveryReplyToEveryAct gives a machine every possible list of up to seven replies, and
// checks every report with the method judge.
func TestEveryReplyToEveryAct(t *testing.T) {
	least := map[ledger.Goal]int{ledger.GoalPay: 100, ledger.GoalResume: 100, ledger.GoalSend: 100, ledger.GoalClear: 50, ledger.GoalRetry: 5, ledger.GoalVoid: 5, ledger.GoalFind: 5}
	for name, e := range goals {
		w := &walk{t: t, maySee: e == ledger.GoalResume || e == ledger.GoalClear}
		w.on(e, 7)
		if w.ended < least[e] {
			t.Errorf("%s: only %d ways ended", name, w.ended)
		}
	}
}

func (w *walk) on(e ledger.Goal, left int) {
	m, act := w.again(e)
	if act == Report {
		w.ended++
		w.judge(e, m)
		return
	}
	if left == 0 {
		return
	}
	if p := m.Payment(); act == Submit && (p.Tx != job.Tx.ID || p.EndToEnd != job.Tx.EndToEnd || p.Amount != job.Tx.Amount) {
		w.t.Fatalf("%q: submits %+v", w.reported, p)
	}
	for _, line := range replies[act] {
		before := *w
		w.reported = append(w.reported[:len(w.reported):len(w.reported)], line)
		w.acts = append(w.acts[:len(w.acts):len(w.acts)], act)
		r := reply(w.t, line)
		if act == Submit && r.Refused == nil {
			w.maySee = true
		}
		if (act == Submit || act == Ask) && !r.Failed && r.Refused == nil && r.State.Progress != scheme.Unknown {
			w.word = strings.TrimSuffix(line, " expired")
		}
		w.unknown = w.unknown || act == Ask && strings.HasPrefix(line, "unknown")
		w.on(e, left-1)
		ended := w.ended
		*w = before
		w.ended = ended
	}
}

// judge checks that a report agrees with the replies and acts that led to it.
func (w *walk) judge(e ledger.Goal, m *Machine) {
	o := &m.Outcome
	last := reply(w.t, w.reported[len(w.reported)-1])
	switch {
	case o.ID != job.Tx.ID || o.EndToEnd != job.Tx.EndToEnd:
		w.t.Errorf("%q: reports on %+v", w.reported, o)
	case (o.Result == ledger.TransferIsRefused || o.Result == ledger.TransferIsLimited) && w.maySee && e != ledger.GoalClear:
		w.t.Errorf("%q: reported a refusal, and the money may have left", w.reported)
	case o.Result == ledger.TransferIsRefused && e == ledger.GoalClear && (last.Refused == nil || !w.unknown):
		w.t.Errorf("%q: refused, and the scheme did not say that it does not know it", w.reported)
	case o.Result == ledger.TransferIsRefused && e == ledger.GoalClear && w.acts[len(w.acts)-1] != Submit:
		w.t.Errorf("%q: refused, and that was no word of the scheme's", w.reported)
	case o.Result == ledger.TransferIsVoided && !strings.HasPrefix(w.reported[0], "unknown") && (e != ledger.GoalVoid || w.reported[0] != "pending"),
		o.Result == ledger.TransferIsVoided && e != ledger.GoalVoid && e != ledger.GoalFind:
		w.t.Errorf("%q: voided", w.reported)
	case o.Result == ledger.TransferIsSending && e != ledger.GoalRetry:
		w.t.Errorf("%q: taken out of a line that it does not stand in", w.reported)
	case (e == ledger.GoalRetry || e == ledger.GoalVoid || e == ledger.GoalFind) && slices.Contains(w.acts, Submit):
		w.t.Errorf("%q: submitted", w.reported)
	case (e == ledger.GoalRetry || e == ledger.GoalVoid || e == ledger.GoalClear || e == ledger.GoalFind && !o.Doubt) && o.Result == ledger.TransferIsAccepted && w.word != "pending":
		w.t.Errorf("%q: accepted without a word", w.reported)
	case o.Result == ledger.TransferIsRefused && last.Refused == nil && o.Refusal != ledger.RefuseLookupFailed:
		w.t.Errorf("%q: refused with %v, which nobody said", w.reported, o.Refusal)
	case o.Result == ledger.TransferIsSettled && w.word != "settled",
		o.Result == ledger.TransferIsRejected && w.word != "rejected "+o.Reason,
		o.Result != ledger.TransferIsSettled && w.word == "settled",
		o.Result != ledger.TransferIsRejected && strings.HasPrefix(w.word, "rejected"):
		w.t.Errorf("%q: the scheme said %q, reported %s", w.reported, w.word, said(o))
	case o.Result == ledger.TransferIsAccepted && !w.maySee && e != ledger.GoalFind:
		w.t.Errorf("%q: accepted, and nothing was ever submitted", w.reported)
	}
}

// TestTimeRunsOut checks that, once the time for the job is over, the machine reports
// within two acts, whatever it has done before.
func TestTimeRunsOut(t *testing.T) {
	for _, way := range []string{"", "owner", "owner/failed", "owner/failed/ok", "owner/failed/ok/unknown", "owner/failed/ok/failed"} {
		for _, end := range []string{"failed expired", "unknown expired", "refused provider_rejected expired"} {
			w := walk{t: t}
			if way != "" {
				w.reported = strings.Split(way, "/")
			}
			m, act := w.again(ledger.GoalPay)
			for range 2 {
				if act != Report {
					act = m.Step(reply(t, end))
				}
			}
			if act != Report {
				t.Errorf("%s, then %q twice: %s", way, end, actNames[act])
			}
		}
	}
}

// TestStepAfterReport checks that a Step after the report panics.
func TestStepAfterReport(t *testing.T) {
	m := New(job)
	m.Begin()
	m.Step(Reply{Failed: true})
	defer func() {
		if recover() == nil {
			t.Error("a step after the report was taken")
		}
	}()
	m.Step(Reply{})
}

// TestKeepsTheOwner checks that a report contains the name, document and ISPB of the owner
// that an earlier lookup found.
func TestKeepsTheOwner(t *testing.T) {
	j, found := job, *job.Tx
	j.Tx = &found
	j.Tx.Counterparty.Name, j.Tx.Counterparty.Document, j.Tx.Counterparty.ISPB = ana.Name, ana.Document, ana.ISPB
	for name, goal := range goals {
		j.Goal = goal
		if got := New(j).Outcome.Owner; got != ana {
			t.Errorf("%s: %+v, want %+v", name, got, ana)
		}
	}
}

// TestRefundWithoutPayer checks that a refund is sent again where the scheme does not know it,
// also where it told no payer of the payment.
func TestRefundWithoutPayer(t *testing.T) {
	m := New(Job{Tx: &ledger.Transaction{Kind: pix.TxRefund}, Goal: ledger.GoalResume})
	m.Begin()
	if act := m.Step(Reply{State: scheme.State{Progress: scheme.Unknown}}); act != Submit {
		t.Error(act)
	}
}

// TestNotSentAgain checks that a refund that must not be sent again, and a payout from before a restore, is
// asked about once and never submitted, and that it is voided only where the scheme does not know it. A refund that
// the scheme calls a duplicate of itself stays in doubt, and so does either after a question without an answer, where
// nobody was told of it yet.
func TestNotSentAgain(t *testing.T) {
	for line, want := range map[string][3]string{
		"unknown": {"voided", "voided", "voided"}, "pending": {"accepted", "accepted", "accepted"}, "settled": {"settled", "settled", "settled"},
		"rejected AC03": {"rejected AC03", "rejected AC03", "rejected AC03"}, "rejected DUPL": {"rejected DUPL", "rejected DUPL", "rejected DUPL"},
		"failed": {"accepted in doubt", "accepted in doubt", "not heard"}, "refused provider_rejected": {"accepted in doubt", "accepted in doubt", "not heard"},
	} {
		for i, status := range []pix.TxStatus{pix.StatusHeld, pix.StatusSending, pix.StatusAccepted} {
			m := New(Job{Tx: &ledger.Transaction{Kind: pix.TxPayout, Status: status}, Goal: ledger.GoalFind})
			if act := m.Begin(); act != Ask {
				t.Fatalf("it begins with %s", actNames[act])
			}
			if act := m.Step(reply(t, line)); act != Report || said(&m.Outcome) != want[i] {
				t.Errorf("%v, %q: %s, %s", status, line, actNames[act], said(&m.Outcome))
			}
		}
	}
	for line, want := range map[string][2]string{
		"unknown": {"voided", "voided"}, "pending": {"accepted", "accepted"}, "settled": {"settled", "settled"},
		"rejected AC03": {"rejected AC03", "rejected AC03"}, "rejected DUPL": {"accepted in doubt", "accepted in doubt"},
		"failed": {"accepted in doubt", "not heard"}, "refused provider_rejected": {"accepted in doubt", "not heard"},
	} {
		for i, status := range []pix.TxStatus{pix.StatusHeld, pix.StatusAccepted} {
			m := New(Job{Tx: &ledger.Transaction{Kind: pix.TxRefund, Status: status}, Goal: ledger.GoalVoid})
			if act := m.Begin(); act != Ask {
				t.Fatalf("it begins with %s", actNames[act])
			}
			if act := m.Step(reply(t, line)); act != Report || said(&m.Outcome) != want[i] {
				t.Errorf("%v, %q: %s, %s", status, line, actNames[act], said(&m.Outcome))
			}
		}
	}
}

// TestLost checks what a child actor that panicked is taken to have come to: what is not accepted yet may have been
// submitted, and a caller may wait for an answer; of all else nothing was heard.
func TestLost(t *testing.T) {
	for name, goal := range goals {
		for status, want := range map[pix.TxStatus]string{
			pix.StatusHeld: "accepted in doubt", pix.StatusSending: "accepted in doubt", pix.StatusAccepted: "not heard", pix.StatusQueued: "not heard",
		} {
			if goal == ledger.GoalClear && want == "not heard" {
				want = "not heard in doubt"
			}
			out := Lost(Job{Tx: &ledger.Transaction{ID: pix.TxID{1}, Status: status, EndToEnd: job.Tx.EndToEnd}, Goal: goal})
			if got := said(&out); got != want || out.ID != job.Tx.ID || out.EndToEnd != job.Tx.EndToEnd {
				t.Errorf("%s, %v: %s, %+v", name, status, got, out)
			}
		}
	}
}
