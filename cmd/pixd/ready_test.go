package main

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestTellsServiceManager checks that an engine tells systemd that it serves, and then that it stops.
func TestTellsServiceManager(t *testing.T) {
	at := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t.Setenv("NOTIFY_SOCKET", at)
	p := start(t, filepath.Join(t.TempDir(), "data"))
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		var room [64]byte
		_ = l.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, err := l.Read(room[:])
		if got := string(room[:n]); got != want || err != nil {
			t.Errorf("told %q (%v), not %s", got, err, want)
		}
	}
}
