package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPythonClient runs the client in examples/python, which was written from the contract
// alone. Its tour exits with 0 only if every answer was as in the contract.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("install python3 (apt-get install python3): the example client is tried with it: %v", err)
	}
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	for _, args := range [][]string{{"tour.py"}, {"-m", "unittest"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, python, append([]string{"-B"}, args...)...) // -B: Python leaves no __pycache__
			c.Dir = filepath.Join("..", "..", "examples", "python")
			c.Env = append(os.Environ(), "PIXD_URL="+p.merchant, "PIXD_CLIENT_ID="+s.Client, "PIXD_CLIENT_SECRET="+s.Secret)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
