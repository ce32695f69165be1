package serving

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"pixd/actors/pix"
	"pixd/actors/scheme/provider"
	"pixd/cmd/certificate"
)

// Peer is the process at the other end of the scheme protocol, as flags name it: --scheme for
// an engine, --engine for a simulator.
type Peer struct {
	Flag, URL, CA string
	Trusted       *tls.Config // what Trust has returned for CA before; nil: CA is to be read
}

// CheckCA returns an error for a CA file without an https URL, because the file would have no
// effect.
func (p Peer) CheckCA() error {
	if p.CA != "" && !strings.HasPrefix(strings.ToLower(p.URL), "https://") {
		return fmt.Errorf("--%s-ca is for an https --%[1]s, which is %s", p.Flag, p.URL)
	}
	return nil
}

// Trust returns the TLS configuration for calls to the peer; nil means that the system's
// authorities are trusted.
func (p Peer) Trust() (*tls.Config, error) {
	if p.CA == "" {
		return nil, nil
	}
	if p.Trusted != nil {
		return p.Trusted.Clone(), nil
	}
	return certificate.Trusting(p.Flag+"-ca", p.CA)
}

// Speaks returns the options with which the engine or the simulator sends requests of the
// scheme protocol to its peer.
func (p Peer) Speaks(secret string, now func() pix.Millis, log *slog.Logger) (provider.Options, error) {
	s, err := provider.NewSecret(secret)
	if err != nil {
		return provider.Options{}, fmt.Errorf("PIXD_SCHEME_SECRET: %w", err)
	}
	u, err := provider.ParseURL(p.URL)
	if err != nil {
		return provider.Options{}, err
	}
	trust, err := p.Trust()
	if err != nil {
		return provider.Options{}, err
	}
	if u.Scheme == "http" && !onThisMachine(u) {
		log.Warn("scheme: messages are signed, and anyone on the way can read them: use https", "to", p.URL)
	}
	return provider.Options{URL: p.URL, Secret: s, TLS: trust, Now: now, NewID: uuid.NewString, Log: log.With("part", "scheme")}, nil
}

func onThisMachine(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
