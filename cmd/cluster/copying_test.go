package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"
)

// TestCopyFromAFrozenNode checks that a copy is not waited for without end where a node is frozen: its machine's kernel takes the
// connection, and nobody answers, neither the request nor the handshake of TLS.
func TestCopyFromAFrozenNode(t *testing.T) {
	for scheme, c := range map[string]*tls.Config{"http": nil, "https": {InsecureSkipVerify: true}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err = fetchFiles(ctx, scheme+"://"+l.Addr().String(), c, t.TempDir(), 0, 100*time.Millisecond)
		if ctx.Err() != nil || !errors.Is(err, errIdle) {
			t.Errorf("%s: %v", scheme, err)
		}
		cancel()
		_ = l.Close()
	}
}
