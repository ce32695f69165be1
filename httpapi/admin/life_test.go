package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/docs/openapi"
)

// TestLife checks each member of what happened to a transaction, and their order.
func TestLife(t *testing.T) {
	f := whole(t)
	real := f.options.History
	f.options.History = richHistory{real}
	f.handler = New(f.options)
	got := f.expect("GET", "/admin/transactions/x/history", "", 200, `{"transaction":{"account_id":"acc_aaaaaaaaaaaao","state":"rejected",…`)
	var l struct {
		Data     []LifeEntry
		Complete bool
	}
	if err := json.Unmarshal([]byte(got), &l); err != nil || !l.Complete {
		t.Fatal(got, err)
	}
	all := ""
	for _, e := range l.Data {
		record, amount := "-", "-"
		if e.Record != nil {
			record = fmt.Sprint(*e.Record)
		}
		if e.Amount != nil {
			amount = fmt.Sprint(*e.Amount)
		}
		id, _, _ := strings.Cut(e.ID, "_")
		all += strings.Join([]string{e.At[17:], e.Kind, record, amount, e.Status, e.Reason, e.Operator, id[:min(6, len(id))], e.Type, fmt.Sprint(e.Code), e.Err}, " ") + "\n"
	}
	if want := `19.995Z case_opened 2 9 defended   med  0 ` + `
20.000Z original - 7 completed   PIXINA  0 ` + `
20.000Z payout_failed 3 7 rejected DUPL ana   0 ` + `
20.000Z event 3 -    evt pix.payout.failed 0 ` + `
20.000Z delivery 3 - dead w  dlv pix.payout.failed 0 ` + `
20.000Z event 3 -    evt pix.completed 0 ` + `
20.000Z delivery 3 - dropped   dlv pix.completed 0 ` + `
20.001Z delivery_attempt 3 -    dlv pix.payout.failed 0 timeout
20.005Z refund_held 4 7 rejected DUPL  PIXRET  0 ` + `
20.009Z delivery_attempt 3 -    dlv pix.payout.failed 500 ` + "\n"; all != want {
		t.Errorf("got\n%swant\n%s", all, want)
	}
	f.options.History = real
	f.handler = New(f.options)
	for _, id := range []string{"PIXOUTAGQ7RZY2LJF6Z4WSG3PR", "x", "%zz"} {
		f.expect("GET", "/admin/transactions/"+id+"/history", "", 404, problem(404, `no transaction \"`+id+`\"`))
	}
	f.options.History = unreadable{real}
	f.handler = New(f.options)
	f.expect("GET", "/admin/transactions/x/history", "", 500, `{"error":{"status":500,…`)
}

// unreadable is a store that cannot be read.
type unreadable struct{ History }

func (unreadable) Life(string) (*ledger.Life, error) { return nil, errors.New("no disk") }

// TestLifeFirstApproval checks that the first of two approvals is shown while the payout waits for the other.
func TestLifeFirstApproval(t *testing.T) {
	f := newFixture(t)
	f.options.ApprovalBy = 2
	tx := everything()
	if _, err := f.options.Operators.Approve(tx.ID, registry.Root); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[pix.TxStatus]int{pix.StatusPending: 1, pix.StatusSettled: 0} {
		tx.Status = status
		s := &service{Options: f.options}
		all := s.entriesOf(&ledger.Life{Owned: ledger.Owned{Account: 7, Tx: tx}})
		if len(all) != want || want == 1 && (all[0].Kind != "approval_first" || all[0].Operator != registry.Root || all[0].Record != nil) {
			t.Errorf("%v: %+v", status, all)
		}
	}
}

// TestLifeKinds checks that the document names each kind of record that may be a part of the life
// of a transaction, and no other.
func TestLifeKinds(t *testing.T) {
	_, rest, _ := strings.Cut(string(openapi.Operator.YAML), "    HistoryEntry:\n")
	_, rest, _ = strings.Cut(rest, "enum:")
	list, _, _ := strings.Cut(rest, "]")
	named := regexp.MustCompile(`[a-z_]+`).FindAllString(list, -1)
	want := []string{lifeOriginal, lifeFirstApproval, lifeEvent, lifeDelivery, lifeAttempt}
	for kind := ledger.RecordKind(1); kind < 64; kind++ {
		name := kind.String()
		about, _, _ := strings.Cut(name, ".")
		if !strings.HasPrefix(name, "kind ") && !slices.Contains([]string{"account", "settings", "answer", "subscription"}, about) {
			want = append(want, strings.ReplaceAll(name, ".", "_"))
		}
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("the document has %q\nwant %q", named, want)
	}
}
