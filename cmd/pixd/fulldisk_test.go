package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// fullDisk is an output that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestStatementOnFullDisk checks that a short statement, too, that cannot be written is an error.
func TestStatementOnFullDisk(t *testing.T) {
	for name, f := range map[string]*statementFlags{"table": {}, "json": {adminFlags: adminFlags{}}, "csv": {csv: true}} {
		f.JSON = name == "json"
		if err := f.print(fullDisk{}, strings.NewReader(`{"data":[],"next_cursor":null}`)); err == nil || !strings.Contains(err.Error(), "incomplete") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTrustedProxyHostBits checks that a --trusted-proxy with host bits set is refused, before what the other flags say.
func TestTrustedProxyHostBits(t *testing.T) {
	c := serveCommand()
	c.SetArgs([]string{"--demo", "--trusted-proxy", "10.1.2.3/8", "--data-dir", t.TempDir()})
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "10.0.0.0/8 is the whole network") {
		t.Error(err)
	}
}
