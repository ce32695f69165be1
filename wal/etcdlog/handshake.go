package etcdlog

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"time"
)

// refusal is how long a server may take to say that it refuses a client's certificate, which it does
// behind its own handshake.
const refusal = 500 * time.Millisecond

// handshake connects to a member of an etcd, and returns why that fails. The client tries on where it
// fails, and then says only that the time is over.
func handshake(ctx context.Context, endpoint string, t *tls.Config) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	if u.Scheme != "https" || t == nil {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
		if err != nil {
			return err
		}
		return c.Close()
	}
	t = t.Clone()
	t.NextProtos = []string{"h2"}
	c, err := (&tls.Dialer{Config: t}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	defer time.AfterFunc(refusal, func() { _ = c.Close() }).Stop()
	_, err = c.Read(make([]byte, 1))
	if said := (*net.OpError)(nil); errors.As(err, &said) && said.Op == "remote error" { // an alert, which TLS has as no type
		return err
	}
	return nil
}
