package engine

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/clock"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/certificate"
	"pixd/cmd/machine"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// toldScheme is a scheme that counts what it is told, and what it is asked.
type toldScheme struct {
	scheme.Scheme
	writes, questions int
}

func (s *toldScheme) Submit(context.Context, scheme.Payment) (scheme.State, error) {
	s.writes++
	return scheme.State{}, nil
}

func (s *toldScheme) Return(context.Context, scheme.Refund) (scheme.State, error) {
	s.writes++
	return scheme.State{}, nil
}

func (s *toldScheme) RegisterKey(context.Context, pix.Key, pix.AccountID) error {
	s.writes++
	return nil
}

func (s *toldScheme) DeregisterKey(context.Context, pix.Key, pix.AccountID) error {
	s.writes++
	return nil
}

func (s *toldScheme) Ask(context.Context, pix.TxID, string) (scheme.State, error) {
	s.questions++
	return scheme.State{}, nil
}

// TestFenced checks that the scheme is told of nothing while a node is not certain that it owns the log,
// and that it may be asked.
func TestFenced(t *testing.T) {
	is, ctx := &toldScheme{}, t.Context()
	certain := false
	f := fenced{is, func(context.Context) bool { return certain }}
	all := func() (errs []error) {
		_, submitted := f.Submit(ctx, scheme.Payment{})
		_, returned := f.Return(ctx, scheme.Refund{})
		return append(errs, submitted, returned, f.RegisterKey(ctx, pix.Key{}, 0), f.DeregisterKey(ctx, pix.Key{}, 0))
	}
	for i, err := range all() {
		if !errors.Is(err, errFenced) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if _, err := f.Ask(ctx, pix.TxID{}, ""); err != nil || is.writes != 0 || is.questions != 1 {
		t.Errorf("told %d times and asked %d times, %v", is.writes, is.questions, err)
	}
	certain = true
	if err := errors.Join(all()...); err != nil || is.writes != 4 {
		t.Errorf("told %d times, %v", is.writes, err)
	}
}

// TestConnectedFenced checks that an engine over a log that several nodes share reaches its scheme through such a
// fence, and any other does not.
func TestConnectedFenced(t *testing.T) {
	for _, sh := range []*Shared{nil, {Certain: func(context.Context) bool { return false }}} {
		e := &Engine{Clock: clock.New(machine.Clocks(), 0), Config: Config{
			Scheme: "http://127.0.0.1:1", SchemeSecret: "0123456789abcdef0123456789abcdef", ISPB: "99999004",
			Shared: sh, Log: slog.New(slog.DiscardHandler),
		}}
		if err := e.connect(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := e.scheme.Submit(ctx, scheme.Payment{})
		cancel()
		if errors.Is(err, errFenced) != (sh != nil) {
			t.Errorf("shared %v: %v", sh != nil, err)
		}
	}
}

// TestOpenWithOthers checks that the connections of other nodes count where it is told how many requests may wait to be read.
func TestOpenWithOthers(t *testing.T) {
	for want, sh := range map[int64]*Shared{0: nil, 3: {Others: func() int64 { return 3 }}} {
		s := &Served{Engine: &Engine{Config: Config{Shared: sh}}, connections: httpapi.Limit(nil, httpapi.ConnectionOptions{})}
		if got := s.open(); got != want {
			t.Errorf("%d connections, expected %d", got, want)
		}
	}
}

// TestDrainBesideOthers checks that a node's engine does not wait for requests that other nodes send it all the while,
// although a client has opened a connection on which there was no request yet.
func TestDrainBesideOthers(t *testing.T) {
	w := newHarness(t, vfs.NewMem())
	w.meters.merchant.InHand.Add(1) // one that comes by Handler
	defer w.meters.merchant.InHand.Add(-1)
	c, err := net.Dial("tcp", w.MerchantAddr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for until := time.Now().Add(5 * time.Second); w.connections.Open() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no connection")
		}
	}
	began := time.Now()
	if err := w.Drain(); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestDrainEndsAudits checks that an audit ends when a node's engine begins to end: it may have come by way of another node,
// whose requests in hand are waited for.
func TestDrainEndsAudits(t *testing.T) {
	w := newHarness(t, vfs.NewMem())
	began, ended := make(chan struct{}), make(chan error, 1)
	w.auditor.Book = func(ctx context.Context) (scheme.Book, error) {
		close(began)
		<-ctx.Done()
		return scheme.Book{}, ctx.Err()
	}
	go func() {
		_, err := w.auditor.Answer()
		ended <- err
	}()
	<-began
	if err := w.Drain(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if p := (*control.Problem)(nil); !errors.As(err, &p) || p.Status != 503 {
			t.Errorf("it has ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
	}
}

// TestDrainLetsBrowsersGo checks that a browser which shows the console's figures is let go when a node's engine begins to
// end, and not only once it has ended: that waits for what other nodes have sent.
func TestDrainLetsBrowsersGo(t *testing.T) {
	w := newHarness(t, vfs.NewMem())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Jar: jar, Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	at := "http://" + w.AdminAddr.String() + "/console"
	r, err := c.PostForm(at+"/login", url.Values{"token": {"token"}})
	if err == nil {
		_ = r.Body.Close()
		r, err = c.Get(at + "/live")
	}
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r, err)
	}
	defer func() { _ = r.Body.Close() }()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, r.Body)
		ended <- err
	}()
	if err := w.Drain(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Second):
		t.Error("the browser still waits")
	}
}

// TestFilesAreKept checks that a node which becomes the owner needs no file that its start has read: it may be gone by then,
// or be about to be replaced.
func TestFilesAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "banks.csv")
	if err := os.WriteFile(file, []byte("ISPB,Nome_Reduzido\n00000000,BCO DO BRASIL\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, ca := httptest.NewTLSServer(nil), file+".pem"
	server.Close()
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Defaults()
	c.ISPBTable, c.Scheme, c.SchemeCA = file, "https://127.0.0.1:1", ca
	if err := errors.Join(c.ReadFiles(), os.Remove(file), os.Remove(ca)); err != nil {
		t.Fatal(err)
	}
	tenure := c // as each start of the node's engine has it
	if banks, err := tenure.banks(); len(banks) == 0 || err != nil {
		t.Errorf("%d banks: %v", len(banks), err)
	}
	if trust, err := tenure.schemePeer().Trust(); err != nil || trust == nil || trust.RootCAs == nil {
		t.Errorf("the scheme is trusted by %v: %v", trust, err)
	}
	tenure.TLS = certificate.Files{Cert: file, Key: file}
	tenure.Shared = &Shared{Certificates: [3]*certificate.Certificate{{}}}
	if certs, err := readCertificates(&tenure); certs != tenure.Shared.Certificates || err != nil {
		t.Error(certs, err)
	}
}
