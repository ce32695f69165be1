package httpapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pixd/actors/pix"
)

var rewriteEvents = flag.Bool("golden", false, "write the golden files of events anew: clients rely on them")

// eventMembers decodes an event strictly: one JSON value whose keys are in snake_case, and no
// object of which has two members of one name.
func eventMembers(t *testing.T, body []byte) (whole, data map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	if err := uniqueKeys(d); err != nil {
		t.Errorf("%v: %s", err, body)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("more than one value (%v): %s", err, body)
	}
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	data, _ = whole["data"].(map[string]any)
	return whole, data
}

// uniqueKeys reads one value and returns an error for a key that is repeated in its object or
// not in snake_case.
func uniqueKeys(d *json.Decoder) error {
	begin, err := d.Token()
	if begin == json.Delim('[') {
		for d.More() {
			if err := uniqueKeys(d); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	if err != nil || begin != json.Delim('{') {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return fmt.Errorf("key %q is repeated or not in snake_case", key)
		}
		seen[key] = true
		if err := uniqueKeys(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func sameMembers(t *testing.T, got map[string]any, want []string) {
	t.Helper()
	for name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s is one member too many", name)
		}
	}
	for _, name := range want {
		if _, there := got[name]; !there {
			t.Errorf("%s is missing", name)
		}
	}
}

// goldenEvent compares an event with the golden file of its kind, and with the document.
func goldenEvent(t *testing.T, kind pix.EventKind, got []byte) {
	t.Helper()
	if err := contract.CheckEvent(kind.String(), got); err != nil {
		t.Error(err)
	}
	path := filepath.Join("testdata", "events", kind.String()+".json")
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	if *rewriteEvents {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s\n got %s\nwant %s", path, b.String(), want)
	}
}
