package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
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
		status, body, err := s.send(ctx, m, http.MethodGet, path, "")
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

// send sends one request of a merchant to the merchant API. An empty body has no signature.
func (s *session) send(ctx context.Context, m *merchant, method, path, body string) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, s.target.URL+"/api/external"+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "ApiKey "+m.clientID+":"+m.secret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("hmac", m.sign([]byte(body)))
	}
	a, err := s.reader.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = a.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(a.Body, longestAnswer))
	return a.StatusCode, answer, err
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
