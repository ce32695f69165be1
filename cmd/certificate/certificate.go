// Package certificate reads TLS certificates: those of listeners, which can be read again while
// they are in use, and those by which a client trusts another process.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// Files are the files of a listener's certificate chain and private key, in PEM; empty:
// the listener speaks plain HTTP.
type Files struct{ Cert, Key string }

// Certificate is the certificate of a listener, or of a client, which can be read again while it is in use.
type Certificate struct {
	flag    string // first part of the flags' names: "tls", "admin-tls", "scheme-tls", "cluster" or "log"
	files   Files
	current atomic.Pointer[tls.Certificate]
}

// Read reads a listener's certificate; it returns nil if no files are named. flag is the first part
// of the flags' names, such as "tls".
func Read(flag string, files Files) (*Certificate, error) {
	if files == (Files{}) {
		return nil, nil
	}
	c := &Certificate{flag: flag, files: files}
	return c, c.read()
}

// read reads the certificate files again. If they cannot be used, the earlier certificate
// stays in use.
func (c *Certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("--%s-cert %s, --%s-key %s: %w", c.flag, c.files.Cert, c.flag, c.files.Key, err)
	}
	c.current.Store(&pair)
	return nil
}

// Config returns a listener's TLS configuration; nil without a certificate.
func (c *Certificate) Config() *tls.Config {
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

// Accepted returns an error where a process that trusts roots would refuse the certificate, as that of the
// server at a host or as a client's.
func (c *Certificate) Accepted(roots *x509.CertPool, host string) error {
	pair := c.current.Load()
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if cert, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(cert)
		}
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			return fmt.Errorf("--%s-cert %s: %w", c.flag, c.files.Cert, err)
		}
	}
	return nil
}

// Tell logs the last day on which the certificate is valid.
func (c *Certificate) Tell(log *slog.Logger, what string) {
	leaf := c.current.Load().Leaf
	log.Info(what, "cert", c.files.Cert, "good_until", leaf.NotAfter.UTC())
	if at := time.Now(); at.Before(leaf.NotBefore) || at.After(leaf.NotAfter) {
		log.Warn("the certificate is not good today: clients will refuse it", "cert", c.files.Cert,
			"good_from", leaf.NotBefore.UTC(), "good_until", leaf.NotAfter.UTC())
	}
}

// Reload reads the files of several certificates again; a nil one is left out. If files cannot be
// used, the error is logged, and the earlier certificate stays in use.
func Reload(log *slog.Logger, certs ...*Certificate) {
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
		c.Tell(log, "certificate reloaded")
	}
	if !found {
		log.Info("nothing to reload: there is no certificate")
	}
}

// Check returns an error if only one of the two files is named.
func (f Files) Check(flag string) error {
	if (f.Cert == "") != (f.Key == "") {
		return fmt.Errorf("--%s-cert and --%s-key go together: one of them is missing", flag, flag)
	}
	return nil
}

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
