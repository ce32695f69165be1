package serving

import (
	"log/slog"
	"net"
	"net/netip"
	"syscall"

	"pixd/httpapi"
)

// What flags have where they are not given: the operator API's address, and the service's own ISPB.
const (
	AdminListen = "127.0.0.1:8081"
	ISPB        = "99999004"
)

// Listen takes a port. An IPv4 address means IPv4 alone: Go would take 0.0.0.0 for every
// IPv4 and IPv6 address.
func Listen(address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			network = "tcp4"
		}
	}
	return net.Listen(network, address)
}

const (
	// AdminConnections is how many connections may be open at once on the operator API, and at a simulator.
	AdminConnections = 1024
	// spareFiles is how many file descriptors are kept for the stores of the journal and
	// the simulator (Pebble opens up to 1,000 each), for the operator API and for the
	// process, among them those of look-ups and deliveries for webhooks.
	spareFiles = 2*1000 + 2*AdminConnections
)

// The file descriptors that a connection of a merchant may take: at a node of several its request may take another
// connection, to the owner, and the owner has as many of other nodes as of its own.
const (
	Alone  = 1
	AsNode = 2
)

// Room returns how many connections merchants may have, each of which takes so many file descriptors: Alone or AsNode. They
// must leave descriptors to the stores: a store that cannot open its next file ends the process.
func Room(each int, log *slog.Logger) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		log.Warn("the limit of open files cannot be told", "error", err)
		return httpapi.MaxConnections
	}
	n := roomWithin(files.Cur, each)
	if n < httpapi.MaxConnections {
		log.Info("open files are limited, and so are merchants' connections", "files", files.Cur, "connections", n)
	}
	return n
}

func roomWithin(files uint64, each int) int {
	n := files / 2
	if files > spareFiles {
		n = max(n, files-spareFiles)
	}
	return int(min(n/uint64(each), httpapi.MaxConnections))
}
