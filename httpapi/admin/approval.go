package admin

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/httpapi/control"
)

// longestOperator is how many characters the name of who decides may have.
const longestOperator = 100

// named tells a name that somebody who decides may have.
func named(s string) bool {
	return strings.TrimSpace(s) != "" && utf8.RuneCountInString(s) <= longestOperator
}

// decide is POST /admin/payouts/:transaction_id/approve, or …/decline: an
// operator's word on a payout that waits for it.
func (s *service) decide(word ledger.Approval) func(*fasthttp.RequestCtx) (int, any, error) {
	return func(ctx *fasthttp.RequestCtx) (int, any, error) {
		o, err := s.payout(ctx)
		if err != nil {
			return 0, nil, err
		}
		name, err := readOperator(ctx)
		if err != nil {
			return 0, nil, err
		}
		a, err := s.do(o.Account, ledger.DecideApproval{ID: o.Tx.ID, Word: word, Operator: name})
		if err != nil {
			return 0, nil, err
		}
		return fasthttp.StatusOK, ownedItem(ledger.Owned{Account: o.Account, Tx: a.Tx}), nil
	}
}

// payout is the one that the path names, by its transaction_id or its id. An
// end-to-end id is none of the two: several payouts may share one.
func (s *service) payout(ctx *fasthttp.RequestCtx) (*ledger.Owned, error) {
	name, _ := ctx.UserValue("transaction_id").(string)
	id, err := url.PathUnescape(name)
	if err != nil {
		return nil, control.Missing("no payout %q", name)
	}
	o, err := s.History.Anyone(id)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Tx.Kind != ledger.TxPayout || id != o.Tx.Public() && strings.ToLower(id) != o.Tx.ID.String() {
		return nil, control.Missing("no payout %q", id)
	}
	return o, nil
}
