package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/cmd/engine"
)

// selfSigned returns settings with a certificate that nobody knows.
func selfSigned(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}} //nolint:gosec // of a test
}

// TestTrustMended checks that a node waits, and says why, while the others show certificates that it cannot
// take, and goes on once one of them is mended.
func TestTrustMended(t *testing.T) {
	var mended atomic.Bool
	wrong := selfSigned(t)
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	other.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if mended.Load() {
			return nil, nil // the server's own
		}
		return wrong, nil
	}}
	other.StartTLS()
	defer other.Close()
	roots := x509.NewCertPool()
	roots.AddCert(other.Certificate())
	var said strings.Builder
	s := &Served{
		config: engine.Config{Log: slog.New(slog.NewTextHandler(&said, nil))}, flags: Flags{Node: "a"},
		peers:     []peer{{"a", "https://127.0.0.1:1"}, {"b", other.URL}, {"c", other.URL}},
		clientTLS: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := s.checkTrust(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with wrong certificates: %v", err)
	}
	if n := strings.Count(said.String(), "do not take each other's certificates"); n != 1 || !strings.Contains(said.String(), "failed to verify certificate") {
		t.Errorf("said %d times: %s", n, said.String())
	}
	over := make(chan error)
	go func() { over <- s.checkTrust(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	mended.Store(true)
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestDiffers checks which other nodes' lists must be this one's: those of nodes that are as new. One that has run
// before may not know of this one.
func TestDiffers(t *testing.T) {
	own := []peer{{"a", "http://a:1"}, {"b", "http://b:1"}}
	s := &Served{peers: own}
	for _, c := range []struct {
		name  string
		is    hello
		err   error
		wrong bool
	}{
		{"the same", hello{Node: "b", Peers: peersText(own)}, nil, false},
		{"another list", hello{Node: "b", Peers: "b=http://b:1"}, nil, true},
		{"another list of one that has run", hello{Node: "b", Peers: "b=http://b:1", Log: logFounded}, nil, false},
		{"another name", hello{Node: "c", Peers: peersText(own), Log: logFounded}, nil, true},
		{"no answer", hello{}, errUnanswered, false},
	} {
		if err := s.differs([]said{{own[1], c.is, c.err}}); (err != nil) != c.wrong {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRefusedBy checks that a node is held up by certificates only where the others could be no majority with it.
func TestRefusedBy(t *testing.T) {
	wrong := said{peer: peer{name: "x"}, err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	gone := said{peer: peer{name: "y"}, err: errUnanswered}
	for _, c := range []struct {
		nodes int
		all   []said
		want  int
	}{
		{2, []said{wrong}, 1},
		{3, []said{wrong, gone}, 0},
		{3, []said{wrong, wrong}, 2},
		{3, []said{gone, gone}, 0},
		{4, []said{wrong, gone, {}}, 0},
		{4, []said{wrong, wrong, {}}, 2},
		{5, []said{wrong, wrong, {}, {}}, 0},
		{5, []said{wrong, wrong, wrong, {}}, 3},
	} {
		s := &Served{peers: make([]peer, c.nodes)}
		if why := s.refusedBy(c.all); len(why) != c.want {
			t.Errorf("%d nodes: %q, want %d", c.nodes, why, c.want)
		}
	}
}

// TestStranger checks that two folders of different clusters are told apart, and that one that is of none yet is let in.
func TestStranger(t *testing.T) {
	for _, c := range []struct {
		own, other string
		err        error
		wrong      bool
	}{{"x", "y", nil, true}, {"x", "x", nil, false}, {"", "y", nil, false}, {"x", "", nil, false}, {"x", "y", errUnanswered, false}} {
		s := &Served{ofCluster: c.own}
		if err := s.stranger([]said{{peer{"b", "http://b:1"}, hello{Cluster: c.other}, c.err}}); (err != nil) != c.wrong {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
