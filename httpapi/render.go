package httpapi

import (
	"fmt"

	"pixd/actors/ledger"
)

// Render is the answer to a charge or a payout, or a payout's refusal, as it is
// sent and, under an idempotency key, kept. It is pure. The keys are snake_case
// whatever camel says.
func Render(a *ledger.Answer, camel bool) (status int, body []byte) {
	_ = camel
	switch {
	case a.Refusal != nil:
		return refusePayout(a.Refusal)
	case a.Tx.Kind == ledger.TxCharge:
		return renderCharge(a.Tx)
	case a.Tx.Kind == ledger.TxPayout:
		return renderPayout(a.Tx)
	}
	panic(fmt.Sprintf("httpapi: no answer is made of a %v", a.Tx.Kind))
}
