package serving

import (
	"net"
	"testing"

	"pixd/httpapi"
)

// TestListensWhereTold checks that listening on an IPv4 address does not take IPv6 addresses.
func TestListensWhereTold(t *testing.T) {
	l, err := Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if host, _, _ := net.SplitHostPort(l.Addr().String()); host != "0.0.0.0" {
		t.Errorf("listens on %s", l.Addr())
	}
}

// TestRoom checks that merchants' connections leave file descriptors to the stores.
func TestRoom(t *testing.T) {
	for files, want := range map[uint64]int{
		64: 32, 1024: 512, 4096: 2048, 20_000: 15_952, 65_536: httpapi.MaxConnections, 1 << 63: httpapi.MaxConnections, 1<<64 - 1: httpapi.MaxConnections,
	} {
		if got := roomWithin(files, Alone); got != want {
			t.Errorf("%d files: %d", files, got)
		}
		if got := roomWithin(files, AsNode); got > want || uint64(2*got) > files || files <= 20_000 && got != want/2 {
			t.Errorf("%d files of a node: %d", files, got)
		}
	}
}
