package provider

import (
	"bytes"
	"cmp"
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

	"pixd/actors/pix"
	"pixd/actors/redact"
)

// Options configure the engine or the simulator as a sender of requests of the protocol.
type Options struct {
	URL    string // base URL of the receiver, in a form that ParseURL accepts
	Secret Secret
	TLS    *tls.Config // nil: the system's certificate authorities are trusted
	Now    func() pix.Millis
	// Stated is called with the time in each answer that the receiver has signed, even if the
	// answer is refused for its age; nil: nothing is called.
	Stated func(pix.Millis)
	NewID  func() string // returns a new message id, different from all earlier ones
	Log    *slog.Logger

	BookPage int // number of accounts for which Provider.Book asks at once; 0: 20,000
	Conns    int // most connections for messages about payments; 0: 256

	PageWithin time.Duration // longest time for a page of the book, of which there may be any number; 30 s at least
}

// ParseURL reads the base URL of the other side of the protocol: http or https, a host, and
// optionally a path that is put before all paths of the protocol.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#") || u.Opaque != "" {
		return nil, fmt.Errorf("%q is no URL such as http://127.0.0.1:8090 or https://provider.example/pix", s)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// client sends signed requests, and accepts only signed answers.
type client struct {
	Options
	base      *url.URL
	direction Direction
	http      *http.Client // for messages about payments
	rare      *http.Client // for all other messages
	groups    *grouper     // sends the messages about payments
	reported  atomic.Int64 // time in ms at which a failure was last logged
}

// The largest numbers of connections to the other side that are open at once; further requests
// wait, within their own deadlines. Messages about payments have Options.Conns, and others, such
// as registrations of keys, their own, so that neither wait for each other. Together they are
// fewer than half of the connections that a listener of pixd accepts from other machines.
const (
	maxConns  = 256
	rareConns = 16
)

func newClient(o Options, d Direction) (*client, error) {
	base, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	c := &client{Options: o, base: base, direction: d}
	c.http, c.rare = connected(&o, cmp.Or(o.Conns, maxConns)), connected(&o, rareConns)
	c.groups = newGrouper(c)
	return c, nil
}

// connected returns an HTTP client with a number of connections of its own.
func connected(o *Options, conns int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // payments must not be routed by an environment variable
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig:     o.TLS,
			TLSHandshakeTimeout: 5 * time.Second,
			MaxConnsPerHost:     conns, MaxIdleConnsPerHost: conns,
			IdleConnTimeout:        time.Minute, // shorter than the time after which pixd's own listeners close idle connections
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true, // the signature covers the bytes as they were sent
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// rare reports whether messages to a path are about something else than payments.
func rare(path string) bool {
	switch path {
	case PathRegister, PathDeregister, PathReturned, PathMovements, PathBook:
		return true
	}
	return false
}

// through returns the HTTP client for messages to a path.
func (c *client) through(path string) *http.Client {
	if rare(path) {
		return c.rare
	}
	return c.http
}

// post sends a message and returns the answer, of at most longest bytes. The answer's
// signature proves that the other side has answered this very message. After any error it is
// unknown whether the message arrived. Messages about payments may travel in groups, and their
// answers have at most MaxBody bytes.
func (c *client) post(ctx context.Context, path string, message any, longest int) (status int, answer []byte, err error) {
	if rare(path) {
		return c.send(ctx, path, c.NewID(), encode(message), longest)
	}
	return c.groups.post(ctx, path, encode(message))
}

// send is post for a message that travels by itself, under the given id.
func (c *client) send(ctx context.Context, path, id string, body []byte, longest int) (status int, answer []byte, err error) {
	status, answer, err = c.try(ctx, path, id, body, longest)
	if err != nil {
		err = c.failed(ctx, err)
	}
	return status, answer, err
}

// try is send without a line in the log.
func (c *client) try(ctx context.Context, path, id string, body []byte, longest int) (status int, answer []byte, err error) {
	got, m, err := c.request(ctx, path, id, body)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = got.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(got.Body, int64(longest)+1))
	if err == nil && len(answer) > longest {
		err = fmt.Errorf("the answer is longer than %d bytes", longest)
	}
	if err != nil {
		return 0, nil, redact.Error(err)
	}
	m.Direction, m.Status, m.Body, m.Timestamp = c.direction.answer(), got.StatusCode, answer, got.Header.Get(HeaderTimestamp)
	if err := c.accept(m, got.Header.Get(HeaderSignature)); err != nil {
		return 0, nil, unsigned(got, answer, err)
	}
	return got.StatusCode, answer, nil
}

// request sends a signed request, and returns the head of the answer and the message that was sent.
func (c *client) request(ctx context.Context, path, id string, body []byte) (*http.Response, Message, error) {
	m := Message{Direction: c.direction, Method: http.MethodPost, ID: id, Timestamp: c.Now().String(), Body: body}
	to := *c.base
	to.Path += path
	m.Path = to.RequestURI()
	r, err := http.NewRequestWithContext(ctx, m.Method, to.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, m, err
	}
	r.Header = http.Header{
		"Content-Type": {contentType(path)}, "User-Agent": {"pixd"},
		HeaderTimestamp: {m.Timestamp}, HeaderMessageID: {m.ID}, HeaderSignature: {c.Secret.Sign(m)},
	}
	got, err := c.through(path).Do(r)
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // without the address, which the log line names already
	}
	return got, m, redact.Error(err)
}

// contentType returns the media type of a request to a path. A group is no JSON, and must not be
// checked as such on its way.
func contentType(path string) string {
	if path == PathGroup || path == PathNoticeGroup {
		return GroupType
	}
	return "application/json"
}

// accept checks an answer's signature and time.
func (c *client) accept(m Message, signature string) error {
	at, err := c.Secret.Verify(m, signature, c.Now())
	if at != 0 && c.Stated != nil {
		c.Stated(at)
	}
	return err
}

// unsigned returns an error that describes an answer without a valid signature, so that the
// reader of the log can find a wrong secret, a wrong clock or a proxy's answer. It does not
// quote the answer, which may name people.
func unsigned(got *http.Response, answer []byte, err error) error {
	if got.Header.Get(HeaderSignature) == "" {
		return fmt.Errorf("answer %d without a signature: %d bytes of %s", got.StatusCode, len(answer), redact.Code(mediaType(got)))
	}
	return fmt.Errorf("answer %d: %w", got.StatusCode, err)
}

// mediaType returns the Content-Type of an answer, without its parameters.
func mediaType(got *http.Response) string {
	t, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
	return t
}

// tellEvery is the least time between two log lines that say that calls fail.
const tellEvery = 30_000 // in ms

// failed logs, at most once in tellEvery, that no valid answer came from the other side: a
// payout's own report does not say so. A request that our side cancelled is not logged.
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

// close ends the groups that are under way, and closes idle connections.
func (c *client) close() {
	c.groups.close()
	c.http.CloseIdleConnections()
	c.rare.CloseIdleConnections()
}

// unexpected returns an error that describes a signed answer which the protocol does not have
// for the message. Of the answer it shows only the code of a refusal, because the rest may
// name people.
func unexpected(status int, answer []byte) error {
	var r Refusal
	if decode(answer, &r, true) == nil && r.Code != "" {
		return fmt.Errorf("answer %d with the refusal %s", status, redact.Code(r.Code))
	}
	return fmt.Errorf("answer %d of %d bytes", status, len(answer))
}
