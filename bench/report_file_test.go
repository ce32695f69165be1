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
		{with(`"cores": 8`, `"cores": -8`), "the machine's number of processors is -8, which no load can have"},
		{with(`"found": 0`, `"found": -1`), "the audit's number of differences is -1"},
		{with(`"differences": null`, `"differences": ["a"]`), "the audit lists 1 differences and says that it found 0"},
		{with(`"rate": 1500`, `"rate": -1`), "run 1 (balance): the rate is -1"},
		{with(`"sent": 5000`, `"sent": -5000`), "run 1 (balance): the number of requests sent is -5000"},
		{with(`"done": 4500`, `"done": 5001`), "run 1 (balance): the number of requests carried out is 5001"},
		{with(`"count": 500`, `"count": -500`), "run 1 (balance): the number of errors is -500"},
		{with(`"prepared": 0`, `"prepared": 1.5`), "run 1 (balance): the share of requests signed before is 1.5"},
		{with(`"p99.9": 2000`, `"p99.9": 1`), "run 1 (balance): the p99 is 800"},
		{with(`"p50": 0`, `"p50": -1`), "run 1 (balance): the p50 is -1"},
		{with(`"max_memory": 300000000`, `"max_memory": 9000000000000000000`), "run 1 (balance): the engine's memory is 9e+18"},
		{with(`"cpu": 0,`, `"cpu": 1e300,`), "run 1 (balance): the generator's processor time is 1e+300"},
		{with(`"q": 0.5`, `"q": 0.95`), "run 1 (balance): point 3 of the distribution is below the one before it"},
		{with(`"latency": 800`, `"latency": 3`), "run 1 (balance): point 4 of the distribution is below the one before it"},
		{with(`"q": 0.5`, `"q": 1.5`), "run 1 (balance): point 2 of the distribution is 1.5"},
		{with(`"at": 2,`, `"at": 0.95,`), "run 1 (balance): second 2 ends before the one before it"},
		{with(`"seconds": 0.5,`, `"seconds": 5.5,`), "run 1 (balance): of second 5 the length is 5.5"},
		{with(`"done": 1200`, `"done": -1200`), "run 1 (balance): of second 2 the number of requests carried out is -1200"},
		{with(`"max": 20000`, `"max": 800`), "run 1 (balance): of second 1 the p99 is 900"},
		{with(`"engine_cores": 0.5`, `"engine_cores": -0.5`), "run 1 (balance): of second 1 the engine's use is -0.5"},
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
