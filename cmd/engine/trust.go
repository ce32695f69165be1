package engine

import (
	"errors"

	"pixd/cmd/certificate"
	"pixd/cmd/serving"
)

func (c *Config) schemePeer() serving.Peer {
	p := serving.Peer{Flag: "scheme", URL: c.Scheme, CA: c.SchemeCA}
	if c.read != nil {
		p.Trusted = c.read.trust
	}
	return p
}

// readCertificates reads the certificates of the merchant API, of the operator API and of the
// listener for a provider's notices. A node gives those that it has in memory: no file is read again when it
// becomes the owner.
func readCertificates(c *Config) (all [3]*certificate.Certificate, err error) {
	if c.Shared != nil {
		return c.Shared.Certificates, nil
	}
	var errs [3]error
	all[0], errs[0] = certificate.Read("tls", c.TLS)
	all[1], errs[1] = certificate.Read("admin-tls", c.AdminTLS)
	all[2], errs[2] = certificate.Read("scheme-tls", c.SchemeTLS)
	return all, errors.Join(errs[:]...)
}

// Reload reads the certificate files again. If files cannot be used, the error is logged, and
// the earlier certificate stays in use.
func (s *Served) Reload() { certificate.Reload(s.Config.Log, s.certs[:]...) }
