package engine

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

// Trusting returns a client's TLS configuration that trusts only the certificates in a PEM
// file. flag is the flag that names the file, for error messages.
func Trusting(flag, file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--%s: %s holds no certificate in PEM", flag, file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// peer is the process at the other end of the scheme protocol, as flags name it: --scheme for
// an engine, --engine for a simulator.
type peer struct{ flag, url, ca string }

// checkCA returns an error for a CA file without an https URL, because the file would have no
// effect.
func (p peer) checkCA() error {
	if p.ca != "" && !strings.HasPrefix(strings.ToLower(p.url), "https://") {
		return fmt.Errorf("--%s-ca is for an https --%[1]s, which is %s", p.flag, p.url)
	}
	return nil
}

// trust returns the TLS configuration for calls to the peer; nil means that the system's
// authorities are trusted.
func (p peer) trust() (*tls.Config, error) {
	if p.ca == "" {
		return nil, nil
	}
	return Trusting(p.flag+"-ca", p.ca)
}

func (c *Config) schemePeer() peer { return peer{"scheme", c.Scheme, c.SchemeCA} }

func (c *SimConfig) enginePeer() peer { return peer{"engine", c.Engine, c.EngineCA} }
