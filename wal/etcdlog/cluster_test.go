package etcdlog

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pixd/wal"
	"pixd/wal/waltest"
)

// patient returns a context for what takes a few seconds where the machine is busy.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// insist appends until etcd answers, as a writer does.
func insist(ctx context.Context, l *Log, after uint64, batch []byte) error {
	for {
		err := l.Append(ctx, 0, after, batch)
		if err == nil || errors.Is(err, wal.ErrMoved) || ctx.Err() != nil {
			return err
		}
	}
}

// TestLeaderLost stops the member that leads, beside a writer and a follower at the others, and starts
// it again.
func TestLeaderLost(t *testing.T) {
	t.Parallel()
	all, ctx := options(t, 3), patient(t)
	members := start(t, all)
	if err := members[0].Lead(ctx); err != nil {
		t.Fatal(err)
	}
	writer, reader := members[1].Log(), members[2].Log()
	if _, err := writer.Found(ctx, wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	got, ended := make(chan uint64, 1_000), make(chan error, 1)
	following, stop := context.WithCancel(ctx)
	go func() {
		ended <- reader.Follow(following, 0, 0, func(position uint64, _ []byte) error { got <- position; return nil })
	}()
	again := make(chan *Member, 1)
	for i := range uint64(60) {
		if i == 20 {
			members[0].Close()
		}
		if i == 40 {
			go func() {
				m, err := Start(ctx, all[0])
				if err != nil {
					t.Error(err)
				}
				again <- m
			}()
		}
		if err := insist(ctx, writer, i, fmt.Append(nil, i)); err != nil {
			t.Fatalf("batch %d: %v", i+1, err)
		}
	}
	for want := uint64(1); want <= 60; want++ {
		if position := <-got; position != want {
			t.Fatalf("the follower got %d, want %d", position, want)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	back := <-again
	defer back.Close()
	if end, err := back.Log().End(ctx, 0); end != 60 || err != nil {
		t.Fatalf("the member that is back says that the log ends at %d: %v", end, err)
	}
}

// TestNoMajority checks that calls of a member that is alone fail with an error that is no answer,
// that its follower waits, and that both go on when another member is back.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	all, ctx := options(t, 2), patient(t)
	for i := range all {
		all[i].Timeout = 300 * time.Millisecond
	}
	members := start(t, all)
	l := members[0].Log()
	if _, err := l.Found(ctx, wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	got := make(chan uint64, 10)
	go func() {
		_ = l.Follow(ctx, 0, 0, func(position uint64, _ []byte) error { got <- position; return nil })
	}()
	members[1].Close()
	_, end := l.End(ctx, 0)
	_, node := l.Node(ctx, wal.NodeVersion{Name: "a"}, nil)
	_, nodes := l.Nodes(ctx)
	for _, err := range []error{l.Append(ctx, 0, 0, []byte("a")), end, node, nodes} {
		if err == nil || errors.Is(err, wal.ErrMoved) {
			t.Errorf("without a majority: %v", err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if m, err := Start(short, MemberOptions{Name: "c", Dir: t.TempDir(), Peers: map[string]string{
		"c": "http://" + waltest.FreePorts(t, 1, 1)[0], "d": "http://" + waltest.FreePorts(t, 1, 1)[0],
	}}); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a member without a majority has started: %v, %v", m, err)
	}
	back, err := Start(ctx, all[1])
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if err := insist(ctx, l, 0, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if position := <-got; position != 1 {
		t.Fatal(position)
	}
}

// TestYield has the member that leads make another one lead.
func TestYield(t *testing.T) {
	t.Parallel()
	members, ctx := start(t, options(t, 3)), patient(t)
	if err := members[0].Lead(ctx); err != nil {
		t.Fatal(err)
	}
	if err := members[1].Yield(ctx, members[2].o.Name); err != nil || !members[0].Leads() {
		t.Error("one that does not lead yields:", err)
	}
	if err := members[0].Yield(ctx, "nobody"); !errors.Is(err, errNoMember) || !members[0].Leads() {
		t.Error("to nobody:", err)
	}
	if err := members[0].Yield(ctx, members[2].o.Name); err != nil || members[0].Leads() {
		t.Error("it leads on:", err)
	}
	for !members[2].Leads() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	members[2].Close()
	for members[0].Leads() == members[1].Leads() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	leads := members[0]
	if members[1].Leads() {
		leads = members[1]
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := leads.Yield(short, members[2].o.Name); err == nil || !leads.Leads() {
		t.Error("to one that has ended:", err)
	}
	if _, err := leads.Log().Node(ctx, wal.NodeVersion{Name: "a"}, []byte("x")); err != nil {
		t.Error("afterwards:", err)
	}
}

// TestMembers adds a member to one that runs, restarts both, and removes it.
func TestMembers(t *testing.T) {
	t.Parallel()
	all, ctx := options(t, 2), patient(t)
	alone := all[0]
	alone.Peers = map[string]string{"a": all[0].Peers["a"]}
	a := start(t, []MemberOptions{alone})[0]
	if _, err := a.Log().Found(ctx, wal.Cluster{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.AddMember(ctx, "b", all[1].Peers["b"]); err != nil {
			t.Fatal(err)
		}
	}
	all[1].Join = true
	b := start(t, all[1:])[0]
	if c, err := b.Log().Cluster(ctx); c.ID != "c" || err != nil {
		t.Fatal(c, err)
	}
	if peers, err := b.Members(ctx); len(peers) != 2 || err != nil || peers[1] != (Peer{"b", all[1].Peers["b"]}) {
		t.Fatal(peers, err)
	}
	if err := a.AddMember(ctx, "b", "http://127.0.0.1:1"); err == nil {
		t.Fatal("two members have one name")
	}
	for range 2 {
		for err := a.RemoveMember(ctx, Peer{Name: "b"}); err != nil; err = a.RemoveMember(ctx, Peer{Name: "b"}) {
			time.Sleep(100 * time.Millisecond)
			if ctx.Err() != nil { // etcd refuses it while it does not know b for long
				t.Fatal(err)
			}
		}
	}
	select {
	case <-b.Done():
	case <-ctx.Done():
		t.Fatal("a member that was removed goes on")
	}
	if err := a.Log().Append(ctx, 0, 0, []byte("a")); err != nil {
		t.Fatal(err)
	}
}

// TestPeersTLS checks that members find each other over mutual TLS.
func TestPeersTLS(t *testing.T) {
	t.Parallel()
	all := options(t, 2)
	dir := t.TempDir()
	makeCertificate(t, dir)
	for i := range all {
		for name, url := range all[i].Peers {
			if url[:5] == "http:" {
				all[i].Peers[name] = "https" + url[4:]
			}
		}
		all[i].CertFile, all[i].KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	}
	if _, err := all[0].config(new(putBack)); err == nil {
		t.Fatal("https without an authority")
	}
	for i := range all {
		all[i].CAFile = all[i].CertFile
	}
	m := start(t, all)[1]
	if _, err := m.Log().Found(patient(t), wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	strange := t.TempDir()
	makeCertificate(t, strange)
	for name, c := range map[string]struct {
		dir     string // of the certificate; empty: none
		version uint16
		taken   bool
	}{
		"a member": {dir, tls.VersionTLS13, true}, "no certificate": {"", tls.VersionTLS13, false},
		"another authority's certificate": {strange, tls.VersionTLS13, false}, "an old TLS": {dir, tls.VersionTLS12, false},
	} {
		if err := knocks(t, strings.TrimPrefix(all[1].Peers[all[1].Name], "https://"), c.dir, c.version); (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// knocks sends a request to a member's port for others.
func knocks(t *testing.T, at, dir string, version uint16) error {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, MaxVersion: version} //nolint:gosec // the port is what is tested
	if dir != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	c, err := tls.Dial("tcp", at, config)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err = io.ReadFull(c, make([]byte, 9)) // with TLS 1.3 a refused certificate is told of here
	return err
}

// makeCertificate writes a certificate that is its own authority.
func makeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "member"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
