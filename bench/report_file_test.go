package bench

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// write writes a file into a folder of the test's own.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func asJSON(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReportIsReadAsWritten checks that every sample with a run comes back as it was.
func TestReportIsReadAsWritten(t *testing.T) {
	for name, r := range samples() {
		if len(r.Runs) == 0 {
			continue
		}
		text := asJSON(t, r)
		got, err := ReadReport(write(t, text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, r) {
			t.Errorf("%s: another report came back", name)
		}
		if !strings.HasPrefix(text, "{\n  \"program\": ") {
			t.Errorf("%s: not indented: %.40s", name, text)
		}
	}
}

// TestReportRefusals checks the error of each file that is no report.
func TestReportRefusals(t *testing.T) {
	good := asJSON(t, knownReport())
	with := func(old, replacement string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the report does not have %s", old)
		}
		return strings.Replace(good, old, replacement, 1)
	}
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty"},
		{" \n", "the file is empty"},
		{"pixbench", "the file is not JSON"},
		{good[:len(good)/2], "the file ends before its JSON does: it may be truncated"},
		{good + "}", "the file is not JSON"},
		{"[]", "this is JSON, but not a report of pixbench run"},
		{"null", "this is JSON, but not a report of pixbench run"},
		{`{"name": "pixd"}`, "this is JSON, but not a report of pixbench run"},
		{`{"started_at": 5}`, "this is JSON, but not a report of pixbench run"},
		{`{"runs": {}}`, "this is JSON, but not a report of pixbench run"},
		{`{"program": "1", "started_at": "2026-03-14T15:09:26Z", "runs": []}`, "the report has no runs"},
		{with(`"started_at": "2026`, `"started_at": "1026`), "the load began in the year 1026, which no load can have"},
		{with(`"cores": 8`, `"cores": -8`), "machine.cores is -8, which no load can have"},
		{with(`"found": 0`, `"found": -1`), "audit.found is -1"},
		{with(`"differences": null`, `"differences": ["a"]`), "the audit lists 1 differences and says that it found 0"},
		{with(`"rate": 1500`, `"rate": -1`), "runs[0].rate is -1"},
		{with(`"sent": 5000`, `"sent": -5000`), "runs[0].sent is -5000"},
		{with(`"done": 4500`, `"done": 5001`), "runs[0].done is 5001, and .sent 5000"},
		{with(`"count": 500`, `"count": -500`), "runs[0].errors[0].count is -500"},
		{with(`"stolen": null`, `"stolen": -0.5`), "runs[0].stolen is -0.5"},
		{with(`"p50": 0`, `"p50": -1`), "runs[0].refused.p50 is -1"},
		{with(`"max_memory": 300000000`, `"max_memory": 9000000000000000000`), "runs[0].engine.max_memory is 9000000000000000000"},
		{with(`"cpu": 0,`, `"cpu": 1e300,`), "runs[0].generator.cpu is 1e+300"},
		{with(`"q": 0.5`, `"q": -0.5`), "runs[0].distribution[1].q is -0.5"},
		{with(`"done": 1200`, `"done": -1200`), "runs[0].series[1].done is -1200"},
		{with(`"engine_cores": 0.5`, `"engine_cores": -0.5`), "runs[0].series[0].engine_cores is -0.5"},
	} {
		file := write(t, c.text)
		r, err := ReadReport(file)
		if err == nil || r != nil {
			t.Errorf("accepted: want %s", c.want)
		} else if text := err.Error(); !strings.HasPrefix(text, file+": "+c.want) || strings.Contains(text, "\n") {
			t.Errorf("%s; want %s", text, c.want)
		}
	}
	if _, err := ReadReport(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json: no such file") {
		t.Error(err)
	}
}

// FuzzReadReport checks that whatever is accepted can be shown, compared and written again.
func FuzzReadReport(f *testing.F) {
	for _, r := range []*Report{knownReport(), sampleSilent(), sampleDifferent(), sampleHostile(), sampleReport(Run{Scenario: "a"})} {
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	other := knownReport()
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parseReport(raw)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("%q", err)
			}
			return
		}
		if err := r.WritePage(io.Discard); err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]*Report{{r, r}, {r, other}, {other, r}} {
			c, err := Compare(pair[0], pair[1])
			if err != nil {
				continue // they have no scenario in common
			}
			if err := c.Write(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := parseReport([]byte(asJSON(t, r))); err != nil {
			t.Fatal(err)
		}
	})
}
