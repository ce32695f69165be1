package httpapi

import (
	"strings"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// validateCPF is POST /cpf/validate. It changes nothing. Its answer is kept under an
// idempotency key all the same, as that of every POST.
func validateCPF(c *call) {
	var cpf textField
	c.body.fields(func(name, value []byte) {
		if string(name) == "cpf" {
			cpf = readText(value)
		}
	})
	if !cpf.Given || cpf.Wrong || len(cpf.Value) > longestCPF {
		c.malformed(refuseField(ledger.RefuseCPF, "cpf", "cpf must be a string, and of at most 64 bytes"), refuseOther)
		return
	}
	kept := ledger.Stored{Code: fasthttp.StatusOK, Body: renderCPF(cpf.Value, c.camel)}
	claim := c.claimed()
	if claim == nil {
		answer(c.ctx, kept.Code, kept.Body)
		return
	}
	c.do(ledger.KeepAnswer{Claim: claim, Stored: kept}, refuseOther)
}

// longestCPF is the greatest length in bytes of the field cpf. It bounds the answers that are
// kept for ever, in records, under idempotency keys, because such requests cost their sender
// nothing.
const longestCPF = 64

var punctuation = strings.NewReplacer(".", "", "-", "", "/", "", " ", "")

// renderCPF returns the answer that says whether a CPF is valid. The CPF may have its
// punctuation; any other character that is not a digit makes it invalid.
func renderCPF(given string, camel bool) []byte {
	bare := punctuation.Replace(given)
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, bare)
	o := opened(camel, 64)
	o.flag("worked", true)
	o.flag("valid", pix.ValidCPF(bare))
	o.text("cpf", digits)
	return o.closed()
}
