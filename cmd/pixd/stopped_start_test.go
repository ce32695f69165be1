package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// TestStoppedStart sends a signal to stop as soon as the operator API's port is open, while the
// engine, a demo and the simulator start, and later ones. Each ends with status 0 and says so.
func TestStoppedStart(t *testing.T) {
	dir := t.TempDir() // not parallel: a port that was free must not be taken meanwhile
	stops := func(name string, begin func(address string) *process, signal syscall.Signal) {
		during := 0
		for wait := time.Duration(0); wait <= 100*time.Millisecond; wait += 10 * time.Millisecond {
			address := waltest.FreePorts(t, 1, 1)[0]
			p := begin(address)
			for range 1000 {
				if c, err := net.Dial("tcp", address); err == nil {
					_ = c.Close()
					break
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(wait)
			began := time.Now()
			if code := p.end(signal); code != 0 || time.Since(began) > 5*time.Second {
				t.Fatalf("%s, after %v: exit %d after %v\n%s", name, wait, code, time.Since(began), p.words())
			}
			p.says("signal=", 1)
			if strings.Contains(p.words(), `msg="stopped during the start: everything is closed"`) {
				during++
			}
		}
		if during == 0 {
			t.Errorf("%s: no signal was met during the start", name)
		}
	}
	stops("engine", func(address string) *process {
		return launch(t, filepath.Join(dir, "data"), "--admin-listen", address)
	}, syscall.SIGTERM)
	stops("demo", func(address string) *process {
		return launch(t, filepath.Join(t.TempDir(), "demo"), "--demo", "--admin-listen", address)
	}, syscall.SIGINT)
	stops("simulator", func(address string) *process {
		return launchSim(t, filepath.Join(dir, "sim"), address, "http://127.0.0.1:1")
	}, syscall.SIGTERM)
}
