package bench

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"pixd/httpapi"
)

// work is the Source of a scenario's requests. It keeps what they were answered, for the audit.
type work struct {
	*session
	scenario Scenario
	tag      string // begins the recipients' keys

	signatures []byte // those of the first requests, signatureLen bytes each
	late       atomic.Int64
}

// signatureLen is the length of the hmac header's value.
const signatureLen = 128

// mostPrepared is the greatest number of requests that are signed before a load: they take 64 MB.
const mostPrepared = 500_000

// prepare signs the first n requests, so that the load does not wait for the generator's
// processor.
func (w *work) prepare(ctx context.Context, n int) {
	if !w.scenario.writes() {
		return
	}
	n = min(n, mostPrepared)
	w.signatures = make([]byte, n*signatureLen)
	_ = w.each(ctx, "preparing", "signatures", n, func(_ context.Context, i int) error { // where the context ends, fewer are signed
		if k, account := w.scenario.of(i, len(w.merchants)); k.writes() {
			var room [256]byte
			copy(w.signatures[i*signatureLen:], w.merchants[account].sign(w.appendBody(room[:0], k, i)))
		}
		return nil
	})
}

// sign returns the signature of a body, which is in canonical form.
func (m *merchant) sign(body []byte) string {
	s, err := httpapi.Sign([]byte(m.secret), body, false)
	if err != nil {
		panic(err) // the body is our own
	}
	return s
}

// Request implements Source.
func (w *work) Request(b []byte, i int) []byte {
	k, account := w.scenario.of(i, len(w.merchants))
	m := &w.merchants[account]
	if !k.writes() {
		return m.appendGet(b, paths[k])
	}
	var room [256]byte
	body := w.appendBody(room[:0], k, i)
	if at := i * signatureLen; at < len(w.signatures) {
		return appendPost(b, m, paths[k], w.signatures[at:at+signatureLen], body)
	}
	w.late.Add(1)
	return appendPost(b, m, paths[k], m.sign(body), body)
}

// Answer implements Source.
func (w *work) Answer(i, status int, body []byte) {
	k, account := w.scenario.of(i, len(w.merchants))
	if k.writes() {
		w.keep(i, account, request{kind: k, amount: 100 * centavos(k, i, max(len(w.payments), 1))}, status, body)
	}
}

// keep keeps what request i of an account, which is a POST, was answered.
func (s *session) keep(i, account int, r request, status int, body []byte) {
	a := answered{account: account, kind: r.kind, amount: r.amount}
	switch {
	case status/100 == 2:
		a.status = status
		a.id, a.named = transactionID(body)
		a.told = toldStatus(body)
	case status != 0 && (status/100 != 5 || status == 503):
		return // nothing was done
	}
	s.answers.add(i, &a)
}

// publicID is a transaction_id, which has at most 26 characters.
type publicID [26]byte

var idMember = []byte(`"transaction_id":"`)

// transactionID finds the transaction_id in an answer.
func transactionID(body []byte) (id publicID, ok bool) {
	at := bytes.Index(body, idMember)
	if at < 0 {
		return id, false
	}
	body = body[at+len(idMember):]
	end := bytes.IndexByte(body, '"')
	if end <= 0 || end > len(id) {
		return id, false
	}
	copy(id[:], body[:end])
	return id, true
}

// String returns the id as the API has it.
func (id publicID) String() string { return string(bytes.TrimRight(id[:], "\x00")) }

// answered is what a client knows of a request that changes a book.
type answered struct {
	account int
	kind    kind
	amount  int64    // base units
	status  int      // 0: the client does not know whether the request was carried out
	told    status   // what the client was told became of it
	id      publicID // if named
	named   bool
}

// answers keeps what clients were answered; requests are spread over shards, so that connections
// seldom wait for each other.
type answers struct {
	shards [16]struct {
		mu  sync.Mutex
		all []answered
		_   [64]byte
	}
}

func (a *answers) add(i int, one *answered) {
	s := &a.shards[i%len(a.shards)]
	s.mu.Lock()
	s.all = append(s.all, *one)
	s.mu.Unlock()
}

// writes reports whether the scenario has requests with a body.
func (s *Scenario) writes() bool { return s.needs(cashIn) || s.needs(cashOut) || s.needs(refund) }
