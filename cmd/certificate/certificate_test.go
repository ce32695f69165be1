package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write writes a new certificate with its key into a file, and returns it.
func write(t *testing.T, file string, serial int64, usage ...x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"pixd.example"},
		ExtKeyUsage: usage, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, _ := x509.MarshalPKCS8PrivateKey(key)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ = x509.ParseCertificate(der)
	return c
}

// TestReloadGoesOn checks that a certificate which cannot be read stays in use, and keeps no other from being read again.
func TestReloadGoesOn(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	write(t, one, 1)
	write(t, two, 2)
	a, errA := Read("tls", Files{one, one})
	b, errB := Read("admin-tls", Files{two, two})
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	write(t, two, 3)
	if err := os.WriteFile(one, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	Reload(slog.New(slog.DiscardHandler), nil, a, b)
	for c, want := range map[*Certificate]int64{a: 1, b: 3} {
		if got, err := c.Config().GetCertificate(nil); err != nil || got.Leaf.SerialNumber.Int64() != want || c.Config().MinVersion != tls.VersionTLS12 {
			t.Errorf("serial %v instead of %d, %v", got.Leaf.SerialNumber, want, err)
		}
	}
}

// TestAccepted checks that a certificate is accepted for its own host alone, and only where it is a server's and a client's.
func TestAccepted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cert")
	for both, usage := range map[bool][]x509.ExtKeyUsage{true: {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, false: {x509.ExtKeyUsageServerAuth}} {
		roots := x509.NewCertPool()
		roots.AddCert(write(t, file, 1, usage...))
		c, err := Read("cluster", Files{file, file})
		if err != nil {
			t.Fatal(err)
		}
		if here, there := c.Accepted(roots, "pixd.example"), c.Accepted(roots, "other.example"); (here == nil) != both || there == nil {
			t.Errorf("both uses %v: %v, at another host %v", both, here, there)
		}
	}
}

// TestAcceptedByAnother checks that a certificate is accepted that its file's second one has signed, where that one's own is
// trusted, as an authority's chain has it.
func TestAcceptedByAnother(t *testing.T) {
	sign := func(serial int64, of string, by *x509.Certificate, with *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: of}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			DNSNames: []string{of}, IsCA: of != "pixd.example", BasicConstraintsValid: true,
		}
		if by == nil {
			by, with = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, with)
		if err != nil {
			t.Fatal(err)
		}
		c, _ = x509.ParseCertificate(der)
		return c, key
	}
	root, rootKey := sign(1, "root", nil, nil)
	middle, middleKey := sign(2, "middle", root, rootKey)
	leaf, key := sign(3, "pixd.example", middle, middleKey)
	private, _ := x509.MarshalPKCS8PrivateKey(key)
	var text []byte
	for _, c := range []*x509.Certificate{leaf, middle} {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	file := filepath.Join(t.TempDir(), "chain")
	if err := os.WriteFile(file, append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read("cluster", Files{file, file})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	if err := c.Accepted(roots, "pixd.example"); err != nil {
		t.Error(err)
	}
	if err := c.Accepted(x509.NewCertPool(), "pixd.example"); err == nil {
		t.Error("without the authority")
	}
}

// TestTellsWhatIsNotGood checks that a certificate is told of which is not good yet, or no more.
func TestTellsWhatIsNotGood(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cert")
	write(t, file, 1)
	c, err := Read("tls", Files{file, file})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, good := range map[string][2]time.Time{
		"":               {now.Add(-time.Hour), now.Add(time.Hour)},
		"not good today": {now.Add(time.Minute), now.Add(time.Hour)}, "is not good today": {now.Add(-time.Hour), now.Add(-time.Minute)},
	} {
		c.current.Store(&tls.Certificate{Leaf: &x509.Certificate{NotBefore: good[0], NotAfter: good[1]}})
		var log strings.Builder
		c.Tell(slog.New(slog.NewTextHandler(&log, nil)), "certificate")
		if strings.Contains(log.String(), "not good today") != (name != "") || !strings.Contains(log.String(), "good_until="+good[1].UTC().Format("2006-01-02")) {
			t.Errorf("%q: %s", name, log.String())
		}
	}
}

// TestTrusting checks that only the certificates of the file are trusted, that one without any is refused, and half a pair too.
func TestTrusting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cert")
	write(t, file, 1)
	if c, err := Trusting("ca", file); err != nil || c.RootCAs == nil {
		t.Errorf("%+v %v", c, err)
	}
	_ = os.WriteFile(file, []byte("none"), 0o600)
	if _, err := Trusting("ca", file); err == nil {
		t.Error("a file without a certificate is taken")
	}
	for files, good := range map[Files]bool{{}: true, {"a", "b"}: true, {"a", ""}: false, {"", "b"}: false} {
		if err := files.Check("tls"); (err == nil) != good {
			t.Errorf("%+v: %v", files, err)
		}
	}
}
