package engine

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// certificate is a listener's certificate, which can be read again while it is in use.
type certificate struct {
	flag    string // first part of the flags' names: "tls", "admin-tls" or "scheme-tls"
	files   TLSFiles
	current atomic.Pointer[tls.Certificate]
}

// readCertificate reads a listener's certificate; it returns nil if no files are named.
func readCertificate(flag string, files TLSFiles) (*certificate, error) {
	if files == (TLSFiles{}) {
		return nil, nil
	}
	c := &certificate{flag: flag, files: files}
	return c, c.read()
}

// read reads the certificate files again. If they cannot be used, the earlier certificate
// stays in use.
func (c *certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("--%s-cert %s, --%s-key %s: %w", c.flag, c.files.Cert, c.flag, c.files.Key, err)
	}
	c.current.Store(&pair)
	return nil
}

// config returns a listener's TLS configuration; nil without a certificate.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}

// tell logs the last day on which the certificate is valid.
func (c *certificate) tell(log *slog.Logger, what string) {
	leaf := c.current.Load().Leaf
	log.Info(what, "cert", c.files.Cert, "good_until", leaf.NotAfter.UTC())
	if at := time.Now(); at.Before(leaf.NotBefore) || at.After(leaf.NotAfter) {
		log.Warn("the certificate is not good today: clients will refuse it", "cert", c.files.Cert,
			"good_from", leaf.NotBefore.UTC(), "good_until", leaf.NotAfter.UTC())
	}
}

// Reload reads the certificate files again. If files cannot be used, the error is logged, and
// the earlier certificate stays in use.
func (s *Served) Reload() { reload(s.Config.Log, s.certs[:]...) }

func reload(log *slog.Logger, certs ...*certificate) {
	found := false
	for _, c := range certs {
		if c == nil {
			continue
		}
		found = true
		if err := c.read(); err != nil {
			log.Error("certificate not reloaded: the one before it stays in use", "error", err)
			continue
		}
		c.tell(log, "certificate reloaded")
	}
	if !found {
		log.Info("nothing to reload: no listener has a certificate")
	}
}

// check returns an error if only one of the two files is named.
func (f TLSFiles) check(flag string) error {
	if (f.Cert == "") != (f.Key == "") {
		return fmt.Errorf("--%s-cert and --%s-key go together: one of them is missing", flag, flag)
	}
	return nil
}

// readCertificates reads the certificates of the merchant API, of the operator API and of the
// listener for a provider's notices.
func readCertificates(c *Config) (all [3]*certificate, err error) {
	var errs [3]error
	all[0], errs[0] = readCertificate("tls", c.TLS)
	all[1], errs[1] = readCertificate("admin-tls", c.AdminTLS)
	all[2], errs[2] = readCertificate("scheme-tls", c.SchemeTLS)
	return all, errors.Join(errs[:]...)
}
