package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGoExampleTypes makes the types of examples/go anew and compares: they are those of docs/openapi/merchant.yaml.
func TestGoExampleTypes(t *testing.T) {
	folder := examples("go", "pixd")
	client, err := os.ReadFile(filepath.Join(folder, "client.go"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^//go:generate go (run .*)$`).FindSubmatch(client)
	if line == nil {
		t.Fatal("client.go has no line for go generate")
	}
	made := filepath.Join(t.TempDir(), "types.go")
	args := strings.Fields(strings.Replace(string(line[1]), " types.gen.go ", " "+made+" ", 1))
	generate := exec.CommandContext(t.Context(), "go", args...)
	generate.Dir, generate.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := generate.CombinedOutput(); err != nil {
		if os.Getenv(everyProgram) == "" && bytes.Contains(out, []byte("dial tcp")) {
			t.Skipf("the generator cannot be had: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(folder, "types.gen.go")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("types.gen.go is not what the document says (%v): run go generate ./... in examples/go", err)
	}
}

// TestGoExample runs the tests of the package in examples/go, which is a module of its own.
func TestGoExample(t *testing.T) {
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir, c.Env = examples("go"), append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", args, err, out)
		}
	}
}
