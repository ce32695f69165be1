package httpapi

import (
	"crypto/sha256"

	"pixd/actors/ledger"
)

// do has the engine carry out a command and answers the request with the result; refuse makes
// the status and the body of the answer to a refusal.
func (c *call) do(command ledger.Command, refuse func(*ledger.Refusal, bool) (int, []byte)) {
	a, err := c.Engine.Do(c.key.Account, command)
	c.answered(&a, err, refuse)
}

// answered answers the request with what has become of its command.
func (c *call) answered(a *ledger.Answer, err error, refuse func(*ledger.Refusal, bool) (int, []byte)) {
	switch {
	case err != nil:
		c.failed(err)
	case a.Stored != nil:
		c.stored(a)
	case a.Refusal != nil:
		status, body := refuse(a.Refusal, c.camel)
		answer(c.ctx, status, body)
	default:
		status, body := c.Renderer.write(a, c.camel)
		answer(c.ctx, status, body)
	}
}

// stored sends the answer that is kept under the request's idempotency key.
func (c *call) stored(a *ledger.Answer) {
	if a.Replay {
		c.ctx.Response.Header.Set("X-Idempotent-Replay", "true")
	}
	if a.Mismatch {
		c.ctx.Response.Header.Set("X-Idempotent-Body-Mismatch", "true")
		c.Log.Warn("http: idempotency key used with another body", "request_id", RequestID(c.ctx), "account", c.key.Account.String(), "path", c.route.path)
	}
	answer(c.ctx, a.Stored.Code, a.Stored.Body)
}

// malformed answers a request whose form is refused. If an answer is kept under the request's
// idempotency key, or an earlier request under the key is still being handled and gets one,
// that answer is sent instead of the refusal, whatever this request's body says.
func (c *call) malformed(r *ledger.Refusal, refuse func(*ledger.Refusal, bool) (int, []byte)) {
	refused, answered := c.recalled()
	if answered {
		return
	}
	if refused != nil {
		r = refused
	}
	status, body := refuse(r, c.camel)
	answer(c.ctx, status, body)
}

// recalled sends the answer that is kept under the request's idempotency key, if there is one;
// it waits for an earlier request under the key. answered says that it, or a failure, was sent.
// r is the refusal of that earlier request; nil: it was not refused, or there was none.
func (c *call) recalled() (r *ledger.Refusal, answered bool) {
	claim := c.claimed()
	if claim == nil {
		return nil, false
	}
	a, err := c.Engine.Do(c.key.Account, ledger.Recall{Claim: claim})
	switch {
	case err != nil:
		c.failed(err)
	case a.Stored != nil:
		c.stored(&a)
	default:
		return a.Refusal, false
	}
	return nil, true
}

// claimed returns the request's idempotency claim, or nil if the request has no
// Idempotency-Key.
func (c *call) claimed() *ledger.Claim {
	if c.claim == "" {
		return nil
	}
	h := sha256.New()
	h.Write(c.ctx.Method())
	h.Write([]byte{0})
	h.Write(c.ctx.URI().PathOriginal())
	h.Write([]byte{0})
	h.Write([]byte(c.claim))
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	body := sha256.Sum256(c.ctx.PostBody())
	return &ledger.Claim{Scope: [16]byte(sum[:16]), BodyHash: [16]byte(body[:16]), Style: styleOf(c.camel)}
}
