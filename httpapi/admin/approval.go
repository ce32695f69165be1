package admin

import (
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// longestOperator is the largest number of characters in the name of an operator.
const longestOperator = 100

// named reports whether s can be the name of an operator: not blank, and not too long.
func named(s string) bool {
	return strings.TrimSpace(s) != "" && utf8.RuneCountInString(s) <= longestOperator
}

// decide is POST /admin/payouts/:transaction_id/approve, or …/decline: an operator's
// decision on a payout that waits for approval.
func (s *service) decide(word ledger.Approval) handler {
	return about(s.payout, func(ctx *fasthttp.RequestCtx, o *ledger.Owned) (int, any, error) {
		name, err := readOperator(ctx)
		if err != nil {
			return 0, nil, err
		}
		a, err := s.do(o.Account, ledger.DecideApproval{ID: o.Tx.ID, Word: word, Operator: name})
		if err != nil {
			return 0, nil, err
		}
		return fasthttp.StatusOK, s.ownedItem(ledger.Owned{Account: o.Account, Tx: a.Tx}), nil
	})
}

// payout returns the payout that the path names, by its transaction_id or its id. It does
// not accept an end-to-end id, because several payouts may share one.
func (s *service) payout(ctx *fasthttp.RequestCtx) (*ledger.Owned, error) {
	id, err := readPath(ctx, "transaction_id", "no payout %q")
	if err != nil {
		return nil, err
	}
	o, err := s.History.Anyone(id)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Tx.Kind != pix.TxPayout || id != o.Tx.Public() && strings.ToLower(id) != o.Tx.ID.String() {
		return nil, control.Missing("no payout %q", id)
	}
	return o, nil
}
