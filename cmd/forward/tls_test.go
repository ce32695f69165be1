package forward

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/cmd/certificate"
)

// authority signs certificates of nodes.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{key: newKey(t), file: filepath.Join(t.TempDir(), name+".pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sign writes a certificate with a serial number for a host and its key.
func (a *authority) sign(t testing.TB, cert, key string, serial int64, host net.IP) {
	t.Helper()
	own := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, cert, "CERTIFICATE", der)
	raw, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, key, "PRIVATE KEY", raw)
}

// identity is what TLS makes of a certificate that an authority has signed.
type identity struct {
	own            *certificate.Certificate
	server, client *tls.Config
	cert, key      string
}

func (a *authority) identity(t testing.TB, host net.IP) identity {
	t.Helper()
	dir := t.TempDir()
	i := identity{cert: filepath.Join(dir, "node.pem"), key: filepath.Join(dir, "node.key")}
	a.sign(t, i.cert, i.key, 2, host)
	var err error
	if i.own, i.server, i.client, err = TLS(i.cert, i.key, a.file); err != nil {
		t.Fatal(err)
	}
	return i
}

var here = net.IPv4(127, 0, 0, 1)

// TestMutual checks that both sides refuse another side without a certificate of their authority,
// and that nothing is done then.
func TestMutual(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	good, stranger, elsewhere := ours.identity(t, here), theirs.identity(t, here), ours.identity(t, net.IPv4(10, 0, 0, 1))
	bare := &tls.Config{RootCAs: good.client.RootCAs, MinVersion: tls.VersionTLS13}
	foreign := stranger.client.Clone()
	foreign.RootCAs = good.client.RootCAs // trusts our authority, and shows a certificate of another
	old := good.client.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	for name, c := range map[string]struct {
		server, client *tls.Config
		want           int
	}{
		"good": {good.server, good.client, 200}, "no certificate": {good.server, bare, 503},
		"the client's authority": {good.server, foreign, 503}, "the server's authority": {stranger.server, good.client, 503},
		"another host": {elsewhere.server, good.client, 503}, "TLS 1.2": {good.server, old, 503},
	} {
		var ran atomic.Int64
		o := newOwner(t, "", c.server, counting(&ran, echo))
		n := newNode(t, Options{Owner: o.at("https"), TLS: c.client, Patience: 300 * time.Millisecond})
		requests := 1
		if c.want == 200 {
			requests = 3
		}
		for range requests {
			a, _ := ask(t, n.address, "/")
			if a.StatusCode != c.want {
				t.Errorf("%s: answered %d", name, a.StatusCode)
			}
		}
		if want := int64(3); c.want == 200 && ran.Load() != want || c.want != 200 && ran.Load() != 0 {
			t.Errorf("%s: the handler ran %d times", name, ran.Load())
		}
		if c.want == 200 && o.Open() != 1 {
			t.Errorf("%s: %d connections for three requests", name, o.Open())
		}
	}
}

// TestReread checks that certificates which were read again are shown in both directions.
func TestReread(t *testing.T) {
	ours := newAuthority(t, "ours")
	i := ours.identity(t, here)
	ours.sign(t, i.cert, i.key, 77, here)
	certificate.Reload(silent(), i.own)
	l, err := tls.Listen("tcp", "127.0.0.1:0", i.server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	serial := make(chan int64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 1))
		serial <- c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), i.client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte("x"))
	if client, server := <-serial, c.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); client != 77 || server != 77 {
		t.Errorf("the certificates shown have the serial numbers %d and %d", client, server)
	}
}

// TestTLSErrors checks that errors name the flag and the file.
func TestTLSErrors(t *testing.T) {
	ours := newAuthority(t, "ours")
	i := ours.identity(t, here)
	for _, c := range []struct{ cert, key, ca, want string }{
		{"", "", "", ""},
		{i.cert, i.key, ours.file, ""},
		{i.cert, "", ours.file, "--cluster-key"},
		{"", "", ours.file, "--cluster-cert"},
		{i.cert, i.key, "", "--cluster-ca"},
		{"/no/cert", i.key, ours.file, "--cluster-cert /no/cert"},
		{i.cert, "/no/key", ours.file, "--cluster-key /no/key"},
		{i.cert, i.key, "/no/ca", "--cluster-ca: open /no/ca"},
		{i.cert, i.key, i.key, "--cluster-ca: " + i.key},
	} {
		_, server, client, err := TLS(c.cert, c.key, c.ca)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s, %s: %v", c.cert, c.key, c.ca, err)
		}
		if set := c.want == "" && c.cert != ""; (server != nil) != set || (client != nil) != set {
			t.Errorf("%s: configured %v, %v", c.cert, server != nil, client != nil)
		}
	}
}
