package httpapi

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// fields are the fields of one request in a story.
type fields map[string]string

// text is a field that is a string; long stands for 141 characters, and wrong for what is no string.
func (f fields) text(name string) textField {
	v, given := f[name]
	if v == "long" {
		v = strings.Repeat("ç", 141)
	}
	return textField{Value: v, Given: given, Wrong: v == "wrong"}
}

// parsed parses the fields of one request.
func (f fields) parsed(request string) *ledger.Refusal {
	centavos, _ := strconv.ParseInt(f["centavos"], 10, 64)
	_, amount := f["centavos"]
	var r *ledger.Refusal
	switch request {
	case "payout":
		_, r = payoutForm{
			Centavos: centavos, Key: f.text("pix"), KeyType: f.text("pix-type"), Description: f.text("description"), ExternalID: f.text("external"),
			RecipientISPB: f.text("ispb"), EndToEnd: f.text("e2e"), Purpose: f.text("purpose"), RecipientDocument: f.text("document"),
		}.parse()
	case "refund":
		_, r = refundForm{Original: f.text("of"), Amount: amount, Centavos: centavos, Reason: f.text("reason"), Description: f.text("description")}.parse()
	case "defend":
		_, r = defenseForm{Justification: f.text("why"), Result: f.text("result"), Contact: f.text("contact")}.parse(pix.CaseID{})
	case "analyse":
		_, r = ParseAnalysis(pix.CaseID{}, f["result"], strings.ReplaceAll(f["details"], "long", strings.Repeat("ç", 2001)))
	case "subscribe":
		form := subscriptionForm{URL: f.text("url")}
		if events, given := f["events"]; given {
			for _, name := range strings.Split(events, ",") {
				form.Events = append(form.Events, textField{Value: name, Given: true, Wrong: name == "wrong"})
			}
		}
		_, r = form.parse()
	default:
		r = refuse(ledger.RefuseNothing, "no request "+request)
	}
	return r
}

// TestFieldStories shows which refusal each wrong field has, in the order in which they are checked.
func TestFieldStories(t *testing.T) {
	seen := map[ledger.RefusalCode]bool{}
	datadriven.RunTest(t, filepath.Join("testdata", "stories", "fields.txt"), func(_ *testing.T, d *datadriven.TestData) string {
		f := fields{}
		for _, arg := range d.CmdArgs {
			f[arg.Key] = strings.Join(arg.Vals, ",")
		}
		r := f.parsed(d.Cmd)
		if r == nil {
			return "taken\n"
		}
		seen[r.Code] = true
		if r.Code == ledger.RefuseKeyInvalid {
			return fmt.Sprintf("refused: %v: %s\n", r.Code, r.Message)
		}
		if r.Field == "" {
			return fmt.Sprintf("refused: %v\n", r.Code)
		}
		return fmt.Sprintf("refused: %v (%s)\n", r.Code, r.Field)
	})
	for _, c := range []ledger.RefusalCode{
		ledger.RefuseAmount, ledger.RefuseKeyInvalid, ledger.RefuseKeyAmbiguous, ledger.RefuseKeyType, ledger.RefuseDescription, ledger.RefuseRecipientISPB,
		ledger.RefuseEndToEnd, ledger.RefusePurpose, ledger.RefuseOriginal, ledger.RefuseReason, ledger.RefuseDefense, ledger.RefuseAnalysis, ledger.RefuseWebhook,
	} {
		if !seen[c] {
			t.Errorf("no story shows the refusal %q", c)
		}
	}
}

// BenchmarkParsePayout measures the checks of a payout request's fields.
func BenchmarkParsePayout(b *testing.B) {
	f := payoutForm{
		Centavos: 1_000, Key: textField{Value: "+5511987654321", Given: true}, Description: textField{Value: "March", Given: true},
		ExternalID: textField{Value: "salary-1", Given: true}, RecipientDocument: textField{Value: "123.456.789-09", Given: true},
	}
	b.ReportAllocs()
	for b.Loop() {
		if c, r := f.parse(); r != nil || c.Amount != 100_000 {
			b.Fatal(c, r)
		}
	}
}
