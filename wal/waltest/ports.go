package waltest

import (
	"fmt"
	"net"
	"sync"
)

// A process of tests takes one block of ports, which it holds by listening on the block's first port as
// long as it lives. All blocks lie below the ports that the system gives to connections, from 32,768 on.
const (
	firstPort = 10_000
	lastPort  = 30_000
	blockSize = 500
)

var block struct {
	sync.Mutex
	hold net.Listener
	base int // of its ports
	next int
}

// Test is the part of testing.TB that FreePorts needs.
type Test interface {
	Helper()
	Fatalf(format string, args ...any)
}

// FreePorts returns n addresses of 127.0.0.1 for processes that are started later, and again on the same
// port. Behind each port, run-1 more are free. No address is given twice, neither to another test of this
// process nor to one of a process beside it, before the others of a block have been given: two
// tests that each looked for a free port would sometimes find the same.
func FreePorts(t Test, n, run int) (addresses []string) {
	t.Helper()
	block.Lock()
	defer block.Unlock()
	if block.hold == nil && !takeBlock() {
		t.Fatalf("no block of ports from %d to %d is free", firstPort, lastPort)
	}
	for tries := 0; len(addresses) < n; tries++ {
		if tries == blockSize {
			t.Fatalf("of %d ports in a row from %d on, not %d are free", run, block.base, n)
		}
		if block.next+run > blockSize {
			block.next = 1
		}
		if port := block.base + block.next; allFree(port, run) {
			addresses = append(addresses, address(port))
			block.next += run
		} else {
			block.next++
		}
	}
	return addresses
}

func takeBlock() bool {
	for base := firstPort; base < lastPort; base += blockSize {
		if l, err := net.Listen("tcp4", address(base)); err == nil {
			block.hold, block.base, block.next = l, base, 1
			return true
		}
	}
	return false
}

// allFree tells whether nobody listens on a port and the run-1 behind it.
func allFree(port, run int) bool {
	for i := range run {
		l, err := net.Listen("tcp4", address(port+i))
		if err != nil || l.Close() != nil {
			return false
		}
	}
	return true
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
