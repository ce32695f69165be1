package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"pixd/actors/redact"
)

// Post is one attempt to deliver an event.
type Post struct {
	URL     string    // it is called exactly as given
	EventID string    // header webhook-id, the same on every attempt
	Secret  string    // key of the signature: whsec_ and base64 of at least one byte
	Former  []string  // keys of further signatures, which come before it
	At      time.Time // time of the attempt; header webhook-timestamp, in whole seconds
	Body    []byte    // JSON; it must not change, not even after Sender.Post has returned
}

// Answer is what the receiver answered.
type Answer struct {
	// Status is the HTTP status, at least 101; 0: no complete head of an answer came.
	Status int
	// Err says why there is no answer, in one line of at most 200 printable ASCII characters.
	// It holds nothing secret, and is empty if Status is not 0.
	Err string
	// RetryAfter is how long the receiver asks to wait, from 0 to 24 h; 0: it does not ask.
	// Only an answer that is not 2xx has it.
	RetryAfter time.Duration
}

const (
	maxHead        = 64 << 10 // bytes of an answer's head, and of all 1xx answers before it
	maxBody        = 64 << 10 // bytes that are read of an answer's body
	maxIdle        = 256      // idle connections in all
	maxIdlePerHost = 16
	idleTime       = 30 * time.Second
	maxRetryAfter  = 24 * time.Hour
	secretPrefix   = "whsec_"
)

// errSecret does not show the secret.
var errSecret = errors.New("the signing secret is not whsec_ and base64")

// Sender posts events to receivers. It is safe for concurrent use, and keeps idle
// connections for the next post to the same host.
type Sender struct {
	targets   *Targets
	timeout   time.Duration
	dialer    net.Dialer
	transport *http.Transport
}

// NewSender returns a sender that calls only what t allows. timeout, which must be positive,
// bounds each attempt as a whole: name lookup, connection, TLS, request and answer.
func NewSender(t *Targets, timeout time.Duration) *Sender { return newSender(t, timeout, nil) }

// newSender also says which certificate authorities are trusted; nil: those of the system.
func newSender(t *Targets, timeout time.Duration, roots *x509.CertPool) *Sender {
	s := &Sender{targets: t, timeout: timeout, dialer: net.Dialer{Timeout: timeout, Control: t.Control}}
	s.transport = &http.Transport{
		Proxy:               nil, // an environment variable must not send events elsewhere
		DialContext:         s.dial,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: timeout,
		Protocols:           new(http.Protocols),
		DisableCompression:  true,
		MaxIdleConns:        maxIdle, MaxIdleConnsPerHost: maxIdlePerHost, IdleConnTimeout: idleTime,
		MaxResponseHeaderBytes: maxHead,
	}
	s.transport.Protocols.SetHTTP1(true)
	return s
}

// Close closes idle connections. Attempts that are under way end by themselves.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Post makes one attempt, and sends at most one request. A redirect is not followed: its
// status is the answer. The status counts as soon as the answer's head is complete, whatever
// becomes of the body: the receiver has decided by then. Up to 64 KiB of the body are read
// within the time limit, only so that the connection can be used again.
func (s *Sender) Post(ctx context.Context, p Post) (a Answer) {
	defer func() {
		if r := recover(); r != nil && a.Status == 0 {
			a = Answer{Err: line(panicked(r))}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	r, err := s.request(ctx, p)
	if err != nil {
		return Answer{Err: line(err)}
	}
	got, err := s.transport.RoundTrip(r) // unlike an http.Client, it has no redirects and no cookies
	if err != nil {
		return Answer{Err: line(reason(ctx, err, connected))}
	}
	defer func() { _ = got.Body.Close() }()
	a = head(got, p.At)
	if a.Status != http.StatusSwitchingProtocols { // what follows that one is no body, and ctx does not end it
		_, _ = io.Copy(io.Discard, io.LimitReader(got.Body, maxBody))
	}
	return a
}

// head returns the answer that an HTTP head means. net/http also accepts statuses below 100.
func head(got *http.Response, at time.Time) Answer {
	if got.StatusCode < http.StatusSwitchingProtocols {
		return Answer{Err: "malformed HTTP status"}
	}
	a := Answer{Status: got.StatusCode}
	if a.Status < 200 || a.Status > 299 {
		a.RetryAfter = retryAfter(got.Header.Get("Retry-After"), at)
	}
	return a
}

// request makes the signed request. The URL is checked again, because it may have become a
// subscription under looser rules than today's.
func (s *Sender) request(ctx context.Context, p Post) (*http.Request, error) {
	if _, err := s.targets.parse(p.URL); err != nil {
		return nil, err
	}
	signature, err := p.signatures()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(p.Body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "pixd/webhooks")
	r.Header.Set(standardwebhooks.HeaderWebhookID, p.EventID)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(p.At.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return r, nil
}

// signatures is the header with one signature for each key, separated by spaces, as Standard Webhooks has
// it. Those of former keys come first, so that a receiver that looks at the first alone, and still has a former
// key, takes the event as before.
func (p *Post) signatures() (string, error) {
	all := make([]string, 0, 1+len(p.Former))
	for _, secret := range append(p.Former[:len(p.Former):len(p.Former)], p.Secret) {
		one, err := p.sign(secret)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	return strings.Join(all, " "), nil
}

func (p *Post) sign(secret string) (string, error) {
	encoded, prefixed := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !prefixed || err != nil || len(key) == 0 { // the library would sign with an empty key
		return "", errSecret
	}
	w, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return "", err
	}
	return w.Sign(p.EventID, p.At, p.Body)
}

// dial connects to a host. Targets.Control sees every address before it is connected to. The
// transport calls dial in a goroutine of its own, without the attempt's deadline.
func (s *Sender) dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, panicked(r)
		}
	}()
	if s.targets.resolve == nil {
		return s.dialer.DialContext(ctx, network, address)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := s.targets.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	return s.dialEach(ctx, network, addrs, port)
}

// dialEach connects to the first of the addresses that can be connected to. Its error is the
// one of the first address.
func (s *Sender) dialEach(ctx context.Context, network string, addrs []netip.Addr, port string) (net.Conn, error) {
	var first error
	for _, a := range addrs {
		c, err := s.dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = &net.DNSError{Err: "no addresses", IsNotFound: true}
	}
	return nil, first
}

// panicked returns an error for a recovered panic. It shows the type alone, because the value
// may hold anything.
func panicked(r any) error { return fmt.Errorf("internal error (%T)", r) }

// reason returns an error that says why no answer came, without addresses of the engine's
// own network, such as that of its name server. ctx is the attempt's.
func reason(ctx context.Context, err error, connected bool) error {
	var lookup *net.DNSError
	var number syscall.Errno
	var network net.Error
	timeout := errors.As(err, &network) && network.Timeout() || errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return errors.New("cancelled before an answer came")
	case errors.Is(err, errRefused), errors.As(err, &lookup):
		return errRefused // one text for both: see there
	case timeout && connected:
		return errors.New("timeout before the head of an answer was complete")
	case timeout:
		return errors.New("timeout before there was a connection")
	case errors.As(err, &number):
		return number
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection was closed before the head of an answer was complete")
	}
	return err
}

// line returns an error's text as merchants and operators may read it: redact.Line's, or a
// text of ours where that is empty.
func line(err error) string {
	text := strings.TrimPrefix(redact.Line(err), "net/http: HTTP/1.x transport connection broken: ")
	return cmp.Or(text, "no answer")
}

// retryAfter reads a header Retry-After, a number of seconds or a date, in an answer to an
// attempt at the time at. It returns 0 if the header has neither form.
func retryAfter(header string, at time.Time) time.Duration {
	if date, err := http.ParseTime(header); err == nil {
		return min(max(date.Sub(at), 0), maxRetryAfter)
	}
	if header == "" || strings.Trim(header, "0123456789") != "" {
		return 0
	}
	seconds, _ := strconv.ParseUint(header, 10, 64) // the largest number for one that does not fit
	return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
}
