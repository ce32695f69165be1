package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// builds are programs that differ from the one under test in a variable that the linker sets.
var builds struct {
	mu   sync.Mutex
	made map[string]string
}

// built builds the program with a variable of it set, which is given as package.name=value.
func built(t *testing.T, variable string) string {
	t.Helper()
	builds.mu.Lock()
	defer builds.mu.Unlock()
	if path := builds.made[variable]; path != "" {
		return path
	}
	path := filepath.Join(filepath.Dir(theBinary()), fmt.Sprint("pixd-", len(builds.made)))
	if out, err := exec.Command("go", "build", "-pgo=off", "-ldflags", "-X "+variable, "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build with %s: %v\n%s", variable, err, out)
	}
	if builds.made == nil {
		builds.made = map[string]string{}
	}
	builds.made[variable] = path
	return path
}
