package admin

import (
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
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
		defer s.forgetFirst(o)
		if word == ledger.Approved && s.ApprovalBy > 1 && s.waits(o) {
			both, err := s.approvedOnce(o.Tx.ID, approver(ctx, name))
			if err != nil {
				return 0, nil, err
			}
			if both == nil {
				return fasthttp.StatusAccepted, s.ownedItem(*o), nil
			}
			name = strings.Join(both, ", ")
		}
		if err := s.askHeld(o, word); err != nil {
			return 0, nil, err
		}
		a, err := s.do(o.Account, ledger.DecideApproval{ID: o.Tx.ID, Word: word, Operator: name})
		if err != nil {
			return 0, nil, err
		}
		return fasthttp.StatusOK, s.ownedItem(ledger.Owned{Account: o.Account, Tx: a.Tx}), nil
	})
}

// waits reports whether a payout waits for an operator's approval.
func (s *service) waits(o *ledger.Owned) bool {
	return o.Tx.Status == pix.StatusPending || s.Holds != nil && s.Holds(o.Tx)
}

// approver is the name by which two approvals are told apart: the token's owner. Whoever has the token of the token file
// is root, whatever name the request gives.
func approver(ctx *fasthttp.RequestCtx, name string) string {
	if who := control.Who(ctx); who.Name == registry.Root {
		return registry.Root
	}
	return name
}

// askHeld asks the scheme about a payout that waits for an operator since a restore: it may have been sent before. One that
// is declined may be where the scheme cannot be asked.
func (s *service) askHeld(o *ledger.Owned, word ledger.Approval) error {
	if s.Holds == nil || !s.Holds(o.Tx) {
		return nil
	}
	known, err := s.AskHeld(*o)
	switch {
	case known && err == nil && s.isDecided(o, word):
		return nil // by another operator meanwhile, who has let it go on
	case known && err == nil:
		return control.Refuse(fasthttp.StatusConflict, "the scheme has had the payout since before the restore: what has become of it is booked, and it is not sent again")
	case err != nil && (known || word == ledger.Approved):
		s.Log.Warn("the scheme could not be asked about a payout", "transaction", o.Tx.Public(), "error", err)
		return control.Refuse(fasthttp.StatusServiceUnavailable, "the scheme could not say whether it has the payout: try again")
	}
	return nil
}

// isDecided reports whether an operator's word about a payout is kept by now.
func (s *service) isDecided(o *ledger.Owned, word ledger.Approval) bool {
	now, err := s.History.Anyone(o.Tx.Public())
	return err == nil && now != nil && now.Tx.Payout.Decision == word && now.Tx.Payout.Operator != ""
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
