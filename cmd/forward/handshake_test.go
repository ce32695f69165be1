package forward

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// TestFailedHandshakeCloses checks that a connection to an owner that does not speak TLS is closed.
func TestFailedHandshakeCloses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ended := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 400 no TLS here\r\n\r\n")
			_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
			_, err = io.Copy(io.Discard, c)
			_ = c.Close()
		}
		ended <- err
	}()
	if _, err := dial(l.Addr().String(), &tls.Config{ServerName: "owner", MinVersion: tls.VersionTLS13}, time.Now().Add(time.Second)); err == nil {
		t.Error("connected")
	}
	if err := <-ended; err != nil {
		t.Error("it stays open:", err)
	}
}
