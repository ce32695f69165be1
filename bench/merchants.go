package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
)

// merchant is an account that was made for the load, with its API key.
type merchant struct {
	id, clientID, secret, pixKey string

	get, post string // the head of its requests after the path; of a POST up to the signature
}

// payment is a payment that a customer made to an account before the load, to be refunded.
type payment struct{ endToEnd string }

const (
	// funds is what each account is credited with before the load, in base units.
	funds = int64(1e13)
	// paymentAmount is the amount of each payment in base units: enough for partialRefunds.
	paymentAmount = int64(1e8)
	// partialRefunds is how many partial refunds one payment is enough for.
	partialRefunds = 900
	// atOnce is how many requests prepare the load at once.
	atOnce = 48
)

// paymentsEach returns how many payments each account receives before a load that needs any:
// statements of at least 20 rows, but not more than 40,000 payments in all.
func paymentsEach(accounts int) int { return max(1, min(20+1000/accounts, 40_000/accounts)) }

// enrol makes the accounts and their API keys, and credits them with money.
func (s *session) enrol(ctx context.Context, n int) error {
	s.merchants = make([]merchant, n)
	return s.each(ctx, "preparing", "accounts", n, func(ctx context.Context, i int) error {
		m := &s.merchants[i]
		var account struct {
			ID string    `json:"account_id"`
			At time.Time `json:"created_at"`
		}
		body := map[string]any{"name": fmt.Sprintf("Load test %d", i+1), "document": "12345678909"}
		if err := s.target.operator.Post(ctx, "/admin/accounts", body, &account); err != nil {
			return err
		}
		if i == 0 {
			if err := s.target.sameTime(account.At, time.Millisecond); err != nil {
				return err
			}
		}
		m.id = account.ID
		var key struct {
			ClientID string `json:"client_id"`
			Secret   string `json:"client_secret"`
		}
		body = map[string]any{"permissions": []string{"*"}, "ip_whitelist": s.target.whitelist(), "signing": true}
		if err := s.target.operator.Post(ctx, "/admin/accounts/"+m.id+"/api-keys", body, &key); err != nil {
			return err
		}
		m.clientID, m.secret = key.ClientID, key.Secret
		m.heads(s.target.host)
		body = map[string]any{"amount": funds, "type": "ted"}
		return s.target.operator.Post(ctx, "/admin/accounts/"+m.id+"/credits", body, nil)
	})
}

// heads sets the heads of the merchant's requests to a host.
func (m *merchant) heads(host string) {
	m.get = " HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: ApiKey " + m.clientID + ":" + m.secret + "\r\n"
	m.post = m.get + "Content-Type: application/json\r\nhmac: "
	m.get += "\r\n"
}

// appendGet appends the bytes of a GET.
func (m *merchant) appendGet(b []byte, path string) []byte {
	return append(append(append(b, "GET /api/external"...), path...), m.get...)
}

// appendPost appends the bytes of a POST with a signature of its body.
func appendPost[S string | []byte](b []byte, m *merchant, path string, signature S, body []byte) []byte {
	b = append(append(append(b, "POST /api/external"...), path...), m.post...)
	b = append(append(b, signature...), "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// pay has customers pay the accounts in turn: payment i goes to account i modulo their number.
func (s *session) pay(ctx context.Context) error {
	n := len(s.merchants)
	if err := s.each(ctx, "preparing", "PIX keys", n, func(ctx context.Context, i int) error {
		return s.findKey(ctx, &s.merchants[i])
	}); err != nil {
		return err
	}
	s.payments = make([]payment, n*paymentsEach(n))
	return s.each(ctx, "preparing", "payments", len(s.payments), func(ctx context.Context, i int) error {
		var paid struct {
			EndToEnd string `json:"end_to_end_id"`
		}
		body := map[string]any{"pix_key": s.merchants[i%n].pixKey, "amount": paymentAmount}
		if err := s.target.sim.Post(ctx, "/sim/payments", body, &paid); err != nil {
			return fmt.Errorf("customers' payments are made in the scheme's simulator (--sim names one in a process of its own): %w", err)
		}
		s.payments[i].endToEnd = paid.EndToEnd
		return nil
	})
}

// findKey waits until an account's PIX key is registered with the scheme.
func (s *session) findKey(ctx context.Context, m *merchant) error {
	for until := time.Now().Add(10 * time.Second); ; {
		raw, err := s.target.operator.Do(ctx, http.MethodGet, "/admin/accounts/"+m.id+"/pix-keys", nil)
		if err != nil {
			return err
		}
		var keys struct {
			Data []struct{ Key, Status string }
		}
		if err := json.Unmarshal(raw, &keys); err != nil {
			return err
		}
		if len(keys.Data) > 0 && keys.Data[0].Status == "registered" {
			m.pixKey = keys.Data[0].Key
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("account %s has no PIX key that is registered with the scheme", m.id)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// each calls do for each number below n, many at once, until one fails.
func (s *session) each(ctx context.Context, stage, what string, n int, do func(ctx context.Context, i int) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var wait sync.WaitGroup
	var next, done atomic.Int64
	for range min(atOnce, n) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					end(err)
					return
				}
				s.show(Progress{Stage: stage, What: what, Done: int(done.Add(1)), Of: n})
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}
