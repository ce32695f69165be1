package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/goccy/go-json"
)

// auditTries is how often a read of the audit is tried: after a load the engine may still refuse
// some, and a rate limit counts the audit's requests too.
const auditTries = 70

// merchantGet reads from the merchant API.
func (s *session) merchantGet(ctx context.Context, m *merchant, path string, into any) error {
	var last error
	for range auditTries {
		status, body, err := s.ask(ctx, m, path)
		switch {
		case err != nil:
			last = err
		case status == http.StatusOK:
			return json.Unmarshal(body, into)
		default:
			last = fmt.Errorf("%s answers %d: %s", path, status, body)
			if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
				return last
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		case <-time.After(time.Second):
		}
	}
	return last
}

// ask sends one GET to the merchant API.
func (s *session) ask(ctx context.Context, m *merchant, path string) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.target.URL+"/api/external"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	return s.send(r, m)
}

// send sends a request of a merchant.
func (s *session) send(r *http.Request, m *merchant) (status int, body []byte, err error) {
	r.Header.Set("Authorization", "ApiKey "+m.clientID+":"+m.secret)
	answer, err := s.reader.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(answer.Body, longestAnswer))
	return answer.StatusCode, body, err
}

// newReader returns the audit's client. It has a source address of its own where there are many,
// because the load may have used up what its addresses may send in a minute.
func (t *target) newReader() *http.Client {
	d := net.Dialer{Timeout: dialTimeout}
	if t.from != nil {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 255, 0, 1)}
	}
	return &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{DialContext: d.DialContext, TLSClientConfig: t.tls, MaxIdleConnsPerHost: atOnce},
	}
}
