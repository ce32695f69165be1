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
