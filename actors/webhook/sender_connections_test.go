package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestKeepAlive checks that posts to one host use one connection, also after answers with a
// body of 64 KiB and after 1xx answers, and that Close closes it.
func TestKeepAlive(t *testing.T) {
	var opened, closed atomic.Int32
	r := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		size, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = w.Write(make([]byte, size))
	}))
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed.Add(1)
		}
	}
	r.Start()
	defer r.Close()
	s := sending(t, long)
	for _, size := range []int{0, 1, maxBody, 5000, maxBody} {
		if a := s.Post(t.Context(), event(fmt.Sprintf("%s/?%d", r.URL, size))); a.Status != 200 {
			t.Error(a)
		}
	}
	if opened.Load() != 1 || closed.Load() != 0 {
		t.Errorf("%d connections, %d closed", opened.Load(), closed.Load())
	}
	if a := s.Post(t.Context(), event(fmt.Sprintf("%s/?%d", r.URL, maxBody+1))); a.Status != 200 {
		t.Error(a)
	}
	eventually(t, "the connection of a longer body is closed", func() bool { return closed.Load() == 1 })
	_ = s.Post(t.Context(), event(r.URL+"/?0"))
	s.Close()
	eventually(t, "Close closes the idle connection", func() bool { return closed.Load() == 2 && opened.Load() == 2 })
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 500 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("not so: " + what)
}

// TestIdleConnections checks how many connections stay open after many posts at once.
func TestIdleConnections(t *testing.T) {
	const n = maxIdlePerHost + 8
	var open atomic.Int32
	var all sync.WaitGroup
	all.Add(n)
	r := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		all.Done()
		all.Wait()
	}))
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	r.Start()
	defer r.Close()
	s := sending(t, long)
	var posts sync.WaitGroup
	for range n {
		posts.Go(func() { s.Post(t.Context(), event(r.URL)) })
	}
	posts.Wait()
	eventually(t, "idle connections are bounded", func() bool { return open.Load() == maxIdlePerHost })
	if got := s.transport; got.MaxIdleConns != 256 || got.IdleConnTimeout != 30*time.Second {
		t.Error(got.MaxIdleConns, got.IdleConnTimeout)
	}
}

// TestTLS checks that the receiver's certificate must be trusted and be for the name, that
// old versions of TLS are refused, and that a receiver which prefers HTTP/2 gets HTTP/1.1.
func TestTLS(t *testing.T) {
	start := func(config *tls.Config) (url string, roots *x509.CertPool) {
		r := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Proto != "HTTP/1.1" {
				w.WriteHeader(http.StatusHTTPVersionNotSupported)
			}
		}))
		r.EnableHTTP2, r.TLS, r.Config.ErrorLog = true, config, log.New(io.Discard, "", 0)
		r.StartTLS()
		t.Cleanup(r.Close)
		return r.URL, r.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	current, roots := start(nil)
	old, _ := start(&tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	named := strings.Replace(current, "127.0.0.1", "localhost", 1)
	for name, c := range map[string]struct {
		roots *x509.CertPool
		url   string
		want  string
	}{
		"trusted":    {roots, current, ""},
		"of nobody":  {nil, current, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"TLS 1.1":    {roots, old, "remote error: tls: protocol version not supported"},
		"other name": {roots, named, "tls: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not localhost"},
		"no TLS":     {roots, strings.Replace(receiving(t, func(http.ResponseWriter, *http.Request) {}).URL, "http:", "https:", 1), "tls: first record does not look like a TLS handshake"},
	} {
		s := newSender(NewTargets(true, nil), long, c.roots)
		if a := s.Post(t.Context(), event(c.url)); a.Err != c.want || (a.Status == 200) != (c.want == "") {
			t.Errorf("%s: %+v", name, a)
		}
		s.Close()
	}
}

// TestNothingLeft checks that after Close no goroutine of a sender is left, whatever the
// receivers did, and that no connection is.
func TestNothingLeft(t *testing.T) {
	var to []string
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nx", "HTTP/1.1 101 x\r\n\r\n", "",
		"HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000),
	} {
		to = append(to, listening(t, says(answer)).url)
	}
	before := goleak.IgnoreCurrent()
	s := NewSender(NewTargets(true, nil), short)
	for _, url := range to {
		s.Post(t.Context(), event(url))
	}
	s.Close()
	s = NewSender(NewTargets(true, func(ctx context.Context, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}), short)
	s.Post(t.Context(), event("http://merchant.example/"))
	goleak.VerifyNone(t, before) // a receiver's goroutine ends when its connection is closed
}

// TestProxyVariables checks that variables of the environment do not choose a proxy. The
// standard library reads them once in a process, so the test runs itself in another one, and
// calls a name that is not local: local ones never go through a proxy.
func TestProxyVariables(t *testing.T) {
	if to := os.Getenv("PIXD_TEST_RECEIVER"); to != "" {
		if via, err := http.ProxyFromEnvironment(httptest.NewRequest(http.MethodPost, to, nil)); via == nil || err != nil {
			t.Fatal("the variables have no effect", err)
		}
		s := NewSender(NewTargets(true, resolving("127.0.0.1")), long)
		defer s.Close()
		if a := s.Post(t.Context(), event(to)); a.Status != http.StatusTeapot {
			t.Error(a)
		}
		return
	}
	r := receiving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	proxy := receiving(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was called") })
	again := exec.Command(os.Args[0], "-test.run=^TestProxyVariables$")
	again.Env = append(os.Environ(), "PIXD_TEST_RECEIVER="+strings.Replace(r.URL, "127.0.0.1", "merchant.example", 1))
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		again.Env = append(again.Env, name+"="+proxy.URL)
	}
	again.Env = append(again.Env, "NO_PROXY=", "no_proxy=", "GORACE=atexit_sleep_ms=0")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// BenchmarkPost measures posts of 400 bytes to one receiver on this machine, by 16 goroutines
// over connections that are kept.
func BenchmarkPost(b *testing.B) {
	r := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer r.Close()
	s := NewSender(NewTargets(true, nil), long)
	defer s.Close()
	p := event(r.URL)
	p.Body = bytes.Repeat([]byte("x"), 400)
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if a := s.Post(b.Context(), p); a.Status != 200 {
				b.Error(a)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}
