package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"pixd/actors/ledger"
)

// Options are what either end of the protocol is made of, where it asks.
type Options struct {
	URL    string // of the other side; ParseURL takes it
	Secret Secret
	TLS    *tls.Config // nil: the system's authorities
	Now    func() ledger.Millis
	// Stated is told each time that the other side states in an answer it has signed,
	// also where the answer is refused for its age; nil: nobody is.
	Stated func(ledger.Millis)
	NewID  func() string // a message id that was never given before
	Log    *slog.Logger
}

// ParseURL reads another side's address: http or https, a host, perhaps a path
// that all of its paths begin with.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#") || u.Opaque != "" {
		return nil, fmt.Errorf("%q is no URL such as http://127.0.0.1:8090 or https://provider.example/pix", s)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// client sends signed requests, and believes signed answers alone.
type client struct {
	Options
	base      *url.URL
	direction Direction
	http      *http.Client
	reported  atomic.Int64 // when a failure was last logged
}

// maxConns are open at once to the other side: what is more waits for its turn,
// within its own time. It is a quarter of what pixd's own listeners take from
// others than this machine's.
const maxConns = 256

func newClient(o Options, d Direction) (*client, error) {
	base, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	c := &client{Options: o, base: base, direction: d}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // money takes no way that an environment variable names
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig:     o.TLS,
			TLSHandshakeTimeout: 5 * time.Second,
			MaxConnsPerHost:     maxConns, MaxIdleConnsPerHost: maxConns,
			IdleConnTimeout:        time.Minute, // shorter than pixd's own listeners wait
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true, // what is signed are the bytes sent
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// post sends a message and gives the answer, which the other side has signed
// for this very message, in longest bytes at most. Every error leaves open
// whether the message arrived.
func (c *client) post(ctx context.Context, path string, message any, longest int) (status int, answer []byte, err error) {
	m := Message{
		Direction: c.direction, Method: http.MethodPost, ID: c.NewID(), Timestamp: c.Now().String(), Body: encode(message),
	}
	to := *c.base
	to.Path += path
	m.Path = to.RequestURI()
	r, err := http.NewRequestWithContext(ctx, m.Method, to.String(), bytes.NewReader(m.Body))
	if err != nil {
		return 0, nil, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"pixd"},
		HeaderTimestamp: {m.Timestamp}, HeaderMessageID: {m.ID}, HeaderSignature: {c.Secret.Sign(m)},
	}
	got, err := c.http.Do(r)
	if err != nil {
		if of := (*url.Error)(nil); errors.As(err, &of) {
			err = of.Err // without the address again
		}
		return 0, nil, c.failed(ctx, err)
	}
	defer func() { _ = got.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(got.Body, int64(longest)+1))
	if err == nil && len(answer) > longest {
		err = fmt.Errorf("the answer is longer than %d bytes", longest)
	}
	if err != nil {
		return 0, nil, c.failed(ctx, err)
	}
	m.Direction, m.Status, m.Body, m.Timestamp = c.direction.answer(), got.StatusCode, answer, got.Header.Get(HeaderTimestamp)
	at, err := c.Secret.Verify(m, got.Header.Get(HeaderSignature), c.Now())
	if at != 0 && c.Stated != nil {
		c.Stated(at)
	}
	if err != nil {
		return 0, nil, c.failed(ctx, unsigned(got, answer, err))
	}
	return got.StatusCode, answer, nil
}

// unsigned says what stands in an answer that is not believed: it is the place
// where a wrong secret or a wrong clock is found.
func unsigned(got *http.Response, answer []byte, err error) error {
	if got.Header.Get(HeaderSignature) == "" {
		return fmt.Errorf("answer %d without a signature: %.200q", got.StatusCode, answer)
	}
	return fmt.Errorf("answer %d: %w", got.StatusCode, err)
}

// tellEvery is how often a failing other side is logged.
const tellEvery = 30_000 // ms

// failed logs that the other side cannot be relied on, now and then, because a
// payout's own report does not say it. It is no failure of theirs where we gave up.
func (c *client) failed(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	now, last := int64(c.Now()), c.reported.Load()
	if now-last >= tellEvery && c.reported.CompareAndSwap(last, now) {
		c.Log.Warn("no answer that can be relied on", "from", c.base.Host, "error", err)
	}
	return err
}

// close lets idle connections go.
func (c *client) close() { c.http.CloseIdleConnections() }

// unexpected is an answer that is signed and is none of those the protocol has
// for the message.
func unexpected(status int, answer []byte) error {
	return fmt.Errorf("answer %d: %.200q", status, answer)
}
