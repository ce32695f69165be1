// Package operator is a client of the operator API for commands, with the flags that name an
// engine and its token.
package operator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/goccy/go-json"
)

// Client is a client of the operator API.
type Client struct {
	Base   string // URL without a path
	Token  string
	Source string       // where the token was found, for the error about a refused token
	HTTP   *http.Client // nil: a client that trusts the system's authorities
	Asks   string       // kind of the server, for error messages; empty: engine
	Flag   string       // name of the flag for its URL; empty: admin
}

const (
	// Patience is the timeout of a request. It is longer than the time for which the
	// engine waits for a scheme.
	Patience = 30 * time.Second
	// longestAnswer is the greatest length in bytes of an answer that is read; a full page of
	// a list is far shorter.
	longestAnswer = 64 << 20
)

// NewHTTP returns a client that follows no redirects, so that only the engine gets the
// token.
func NewHTTP(t http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout: Patience, Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Do sends a request, with a body unless that is nil, and returns the answer's JSON. An
// error says in one line what the API answered, or that there was no answer.
func (o *Client) Do(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	r, err := o.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	answer, err := o.caller().Do(r)
	if err != nil {
		return nil, o.unanswered(method, err)
	}
	return o.whole(method, answer)
}

func (o *Client) caller() *http.Client {
	if o.HTTP == nil {
		return NewHTTP(nil)
	}
	return o.HTTP
}

func (o *Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, o.Base+path, sent)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+o.Token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// whole reads and closes an answer and returns its JSON, with an error that says what is wrong
// with it.
func (o *Client) whole(method string, answer *http.Response) (json.RawMessage, error) {
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(io.LimitReader(answer.Body, longestAnswer+1))
	if err == nil && len(got) > longestAnswer {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, o.unanswered(method, err)
	}
	return got, o.judge(answer.StatusCode, got)
}

// Post sends a body and reads the answer into a value.
func (o *Client) Post(ctx context.Context, path string, body, into any) error {
	got, err := o.Do(ctx, http.MethodPost, path, body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(got, into)
}

// judge returns nil for a successful answer in JSON.
func (o *Client) judge(status int, got []byte) error {
	if status/100 == 2 {
		if !json.Valid(got) {
			return fmt.Errorf("%s answers %d without JSON: it is no operator API", o.Base, status)
		}
		return nil
	}
	var problem struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(got, &problem) != nil || problem.Error.Message == "" {
		return fmt.Errorf("%s answers %d %s: it may be no operator API", o.Base, status, cmp.Or(http.StatusText(status), "with an unknown status"))
	}
	if status == http.StatusUnauthorized && o.Source != "" {
		hint := ""
		if o.Source != TokenVariable {
			hint = ": where " + TokenVariable + " is set for the " + cmp.Or(o.Asks, "engine") + ", as in /etc/pixd/pixd.env, it counts and no file does; set it here too"
		}
		return fmt.Errorf("the operator API refuses the token from %s (%d)%s", o.Source, status, hint)
	}
	return fmt.Errorf("%s (%d)", problem.Error.Message, status)
}

// unanswered returns the error for a request without an answer. For a change it says that the
// change may have been made all the same.
func (o *Client) unanswered(method string, err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // without the URL, which the error line names already
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no %s answers at %s: %w", cmp.Or(o.Asks, "engine"), o.Base, op.Err)
	}
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		return fmt.Errorf("%s is not trusted (--%s-ca names a certificate that is): %w", o.Base, cmp.Or(o.Flag, "admin"), untrusted.Err)
	}
	if method == http.MethodGet {
		return fmt.Errorf("no answer from %s: %w", o.Base, err)
	}
	return fmt.Errorf("no answer from %s, so look whether the change was made before you try again: %w", o.Base, err)
}
