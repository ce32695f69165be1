package engine

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"pixd/cmd/certificate"
)

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
	return certificate.Trusting(p.flag+"-ca", p.ca)
}

func (c *Config) schemePeer() peer { return peer{"scheme", c.Scheme, c.SchemeCA} }

func (c *SimConfig) enginePeer(url string) peer { return peer{"engine", url, c.EngineCA} }

// readCertificates reads the certificates of the merchant API, of the operator API and of the
// listener for a provider's notices.
func readCertificates(c *Config) (all [3]*certificate.Certificate, err error) {
	var errs [3]error
	all[0], errs[0] = certificate.Read("tls", c.TLS)
	all[1], errs[1] = certificate.Read("admin-tls", c.AdminTLS)
	all[2], errs[2] = certificate.Read("scheme-tls", c.SchemeTLS)
	return all, errors.Join(errs[:]...)
}

// Reload reads the certificate files again. If files cannot be used, the error is logged, and
// the earlier certificate stays in use.
func (s *Served) Reload() { certificate.Reload(s.Config.Log, s.certs[:]...) }
