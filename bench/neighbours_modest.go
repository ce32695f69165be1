package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// request is one request of an account, without its head and signature.
type request struct {
	path   string
	accept string // the header Accept; empty: none
	body   string // canonical; empty: a GET
	kind   kind   // of a POST
	amount int64  // of a POST, in base units
}

// appendRequest appends the bytes of an account's request.
func (s *session) appendRequest(b []byte, account int, r request) []byte {
	m := &s.merchants[account]
	if r.body != "" {
		return appendPost(b, m, r.path, m.sign([]byte(r.body)), []byte(r.body))
	}
	b = m.appendGet(b, r.path)
	if r.accept != "" { // before the empty line at the end
		b = append(append(append(b[:len(b)-2], "Accept: "...), r.accept...), "\r\n\r\n"...)
	}
	return b
}

// modest is the Source of the modest account: payouts, and between them lookups of its last
// payout by identifier and by external identifier.
type modest struct {
	*session
	tag  string
	hook *hook
	way  *way // nil while it warms up

	loads    int // of this account so far
	mu       sync.Mutex
	id, name string // of the last payout that was accepted
}

// payoutOf returns the payout that request i makes.
func (m *modest) payoutOf(i int) request {
	n := m.number(i)
	key := fmt.Sprintf("%s%d@example.com", m.tag, n)
	if m.way != nil && m.way.queued && i%8 == 0 {
		key = fmt.Sprintf("bucket-exhausted-1+%s%d@pix.test", m.tag, n)
	}
	centavos := int64(100 + n%1000)
	body := fmt.Sprintf(`{"amount":%d,"external_id":"%s%d","pix_key":"%s"}`, centavos, m.tag, n, key)
	return request{path: paths[cashOut], body: body, kind: cashOut, amount: 100 * centavos}
}

// number is request i's number among those of all loads.
func (m *modest) number(i int) int { return m.loads<<20 + i }

// Request implements Source.
func (m *modest) Request(b []byte, i int) []byte {
	if i%2 == 0 {
		m.hook.asked(m.tag + strconv.Itoa(m.number(i)))
		return m.appendRequest(b, 0, m.payoutOf(i))
	}
	m.mu.Lock()
	path := "/transactions/" + m.id
	switch {
	case m.id == "":
		path = "/statement"
	case i%4 == 1:
		path = "/transactions/ref/" + m.name
	}
	m.mu.Unlock()
	return m.appendRequest(b, 0, request{path: path})
}

// Answer implements Source.
func (m *modest) Answer(i, status int, body []byte) {
	if i%2 == 1 {
		return
	}
	m.keep(i, 0, m.payoutOf(i), status, body)
	name := m.tag + strconv.Itoa(m.number(i))
	if status/100 != 2 {
		m.hook.forget(name)
		return
	}
	id, _ := transactionID(body)
	m.mu.Lock()
	m.id, m.name = id.String(), name
	m.mu.Unlock()
}

// subscribe has the modest account told of its payouts, where the engine may call this machine.
func (m *modest) subscribe(ctx context.Context) error {
	_, err := m.subscribeTo(ctx, 0, m.hook.url("/told"))
	if m.hook.off = errors.Is(err, errNotCalled); m.hook.off {
		return nil
	}
	return err
}
