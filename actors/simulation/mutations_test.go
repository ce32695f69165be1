package simulation

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var simMutation = flag.String("sim.mutation", "", "live with this mutation of the code, which must be found; all: with each in its turn")

// TestMutationsApply checks that the text which each mutation replaces occurs exactly once,
// and that docs/simulation.md has a row for each mutation.
func TestMutationsApply(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "simulation.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range slices.Concat(mutations, nodeMutations) {
		src, err := os.ReadFile(p.path())
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(src), p.old); n != 1 || p.old == p.new || names[p.name] {
			t.Errorf("%s: what it changes stands %d times in %s", p.name, n, p.file)
		}
		if row := "| `" + p.name + "` | " + p.breaks + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/simulation.md has no row %s", row)
		}
		names[p.name] = true
	}
}

// TestMutations builds the engine with each mutation and checks that one of the first
// thousand lives fails: of one process, or for nodeMutations of several nodes.
func TestMutations(t *testing.T) {
	if *simMutation == "" {
		t.Skip("make mutations")
	}
	found := 0
	for i, p := range slices.Concat(mutations, nodeMutations) {
		if *simMutation != "all" && *simMutation != p.name {
			continue
		}
		lives := "."
		if i >= len(mutations) {
			lives = "pixd/cmd/cluster"
		}
		out := p.grow(t, lives)
		if m := firstFailure.FindStringSubmatch(out); m != nil {
			found++
			t.Logf("%-28s seed %s: %s", p.name, m[1], m[2])
			continue
		}
		if strings.Contains(out, "[build failed]") {
			t.Errorf("%s does not compile:\n%s", p.name, out)
			continue
		}
		t.Errorf("%s was not found (%s):\n%s", p.name, p.breaks, out)
	}
	if found == 0 {
		t.Errorf("no mutation named %q was found", *simMutation)
	}
}

var firstFailure = regexp.MustCompile(`seed (\d+): (.*)`)

func (p *mutation) path() string { return filepath.Join("..", "..", filepath.FromSlash(p.file)) }

// grow runs TestLives of a package with the mutation in the code until a life fails, and returns
// the output.
func (p *mutation) grow(t *testing.T, lives string) string {
	t.Helper()
	path, err := filepath.Abs(p.path())
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	over, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for file, b := range map[string][]byte{changed: []byte(strings.Replace(string(src), p.old, p.new, 1)), overlay: over} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command("go", "test", "-overlay="+overlay, "-count=1", "-timeout=170s", lives,
		"-run=^TestLives$", "-sim.from=1", "-sim.n=1000", "-sim.first").CombinedOutput()
	return string(out)
}
