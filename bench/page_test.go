package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// page writes a report's page and returns it with all its elements.
func page(t *testing.T, r *Report) (string, []element) {
	t.Helper()
	var b strings.Builder
	if err := r.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	return b.String(), elements(t, b.String())
}

// An element is one of a page, with the text in it and in the elements in it.
type element struct {
	name  string
	attrs map[string]string
	path  string // names and classes of the elements around it
	text  string
}

func (e element) is(class string) bool {
	return strings.Contains(" "+e.attrs["class"]+" ", " "+class+" ")
}

// elements parses a page.
func elements(t *testing.T, text string) (all []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.Entity = false, xml.HTMLEntity
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			if len(open) > 0 {
				up := all[open[len(open)-1]]
				e.path = up.path + " " + up.name + "." + up.attrs["class"] + up.attrs["id"]
			}
			all, open = append(all, e), append(open, len(all))
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, i := range open {
				all[i].text += string(token)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("%d elements are not closed", len(open))
	}
	return all
}

// fetches finds what makes a browser load something or run a script.
var fetches = regexp.MustCompile(`(?i)url\s*\(|@import|@font-face|expression\s*\(`)

// TestPageLoadsNothing checks the elements and attributes of every sample's page.
func TestPageLoadsNothing(t *testing.T) {
	known := map[string]bool{}
	for _, n := range strings.Fields("html head meta title style body h1 h2 h3 p section strong ol li dl dt dd table thead tbody tr th td span a div figure figcaption b i svg path text circle") {
		known[n] = true
	}
	attributes := map[string]bool{}
	for _, n := range strings.Fields("lang charset http-equiv content name class id data-column style viewBox role aria-label d x y cx cy r transform href stroke-dasharray") {
		attributes[n] = true
	}
	for name, r := range samples() {
		_, all := page(t, r)
		for _, e := range all {
			if !known[e.name] {
				t.Errorf("%s: element %s", name, e.name)
			}
			if e.name == "style" && fetches.MatchString(e.text) {
				t.Errorf("%s: the style sheet loads something", name)
			}
			for a, v := range e.attrs {
				if !attributes[a] || a == "href" && !strings.HasPrefix(v, "#run-") || (a == "style" || a == "content") && fetches.MatchString(v) {
					t.Errorf("%s: <%s %s=%q>", name, e.name, a, v)
				}
			}
		}
	}
}

// TestPageEscapes checks that texts of a report are shown as they are, without control
// characters.
func TestPageEscapes(t *testing.T) {
	r := sampleHostile()
	text, all := page(t, r)
	shown := legible(r.Runs[0].Scenario)
	for _, place := range []string{"h2", "li", "dd", "td", "a", "p"} {
		found := false
		for _, e := range all {
			found = found || e.name == place && strings.Contains(e.text, shown)
		}
		if !found {
			t.Errorf("no %s shows the text", place)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("a control character is in the page")
	}
}

// TestPageFigures checks the table of all runs cell by cell, and what is said about a run.
func TestPageFigures(t *testing.T) {
	_, all := page(t, sampleOverload())
	want := [][2]string{
		{"Requests/s", "7,528"},
		{"Errors", "131,700 (36.8 %)"},
		{"p50", "192 ms"},
		{"p90", "700 ms"},
		{"p99", "1.29 s"},
		{"p99.9", "5.20 s"},
		{"Slowest", "12.2 s"},
		{"Engine CPU per request", "100 µs"},
		{"Engine memory", "512 MB"},
		{"Generator’s share of CPU", "30.8 %"},
		{"Signed before", "100 %"},
		{"p99 of syncs", "2.00 ms"},
		{"Stolen CPU", "12.3 %"},
	}
	var columns []string
	for _, e := range all {
		if e.name == "td" && e.attrs["data-column"] != "" {
			if len(want) == 0 || e.attrs["data-column"] != want[0][0] || e.text != want[0][1] {
				t.Fatalf("%s: %s; want %v", e.attrs["data-column"], e.text, want)
			}
			want = want[1:]
		}
		if e.name == "th" && strings.Contains(e.path, "table.runs") && strings.Contains(e.path, "thead") {
			columns = append(columns, e.text)
		}
	}
	if len(want) > 0 || strings.Join(columns[1:], ",") != strings.Join(runColumns, ",") {
		t.Fatalf("missing: %v; columns: %v", want, columns)
	}
	says(t, all, "h2", "cash-out 15,000 requests/s due")
	says(t, all, "p", "225,924 of 357,624 requests were carried out in 30.0 s, over 64 connections from 1 address to 1,000 accounts.")
	says(t, all, "p", "Refusals took 310 µs (p50), 4.10 ms (p99) and 15.0 ms (slowest) from when the requests were sent.")
	says(t, all, "p", "The journal’s syncs took up to 300 µs (p50), 2.00 ms (p99) and 500 ms (slowest).")
	says(t, all, "p", "The host let other machines run in 12.3 % of the processors’ time: with processors of its own the engine is faster.")
	says(t, all, "p", "The load was interrupted before its time. The figures are of what was sent until then.")
	says(t, all, "dd", "pixd 1.4.0, commit 0123abcd")
	says(t, all, "dd", "http://127.0.0.1:8080")
	says(t, all, "dd", "8 processors, Imaginary 9000 at 3.00 GHz, 17.2 GB of memory, linux/amd64, go1.26.8")
	says(t, all, "dd", "2026-03-14 15:09:26 UTC")
	says(t, all, "tr", "503130,45636.5 %")
	says(t, all, "tr", "connection reset30.00084 %")
}

// says checks that an element has exactly a text.
func says(t *testing.T, all []element, name, text string) {
	t.Helper()
	for _, e := range all {
		if e.name == name && strings.TrimSpace(e.text) == text {
			return
		}
	}
	t.Errorf("no %s says %q", name, text)
}

// TestPageVerdict checks that the first thing on a page is what the audit found.
func TestPageVerdict(t *testing.T) {
	nothing := sampleSix()
	nothing.Audit = Audit{}
	unlisted := sampleSix()
	unlisted.Audit.Found = 1
	for _, c := range []struct {
		name            string
		r               *Report
		class, headline string
	}{
		{"agreed", sampleSix(), "good", "✓ The books agree."},
		{"differences", sampleDifferent(), "bad", "✗ The books differ: 17 differences."},
		{"none listed", unlisted, "bad", "✗ The books differ: 1 difference."},
		{"no scheme", sampleOverload(), "open", "! The engine's book agrees with what clients were answered; the scheme's book was not compared."},
		{"no audit", nothing, "open", "? The books were not compared."},
	} {
		_, all := page(t, c.r)
		for _, e := range all {
			if e.name == "section" {
				if e.attrs["class"] != "verdict "+c.class {
					t.Errorf("%s: %s", c.name, e.attrs["class"])
				}
				break
			}
		}
		says(t, all, "strong", c.headline)
		interrupted := strings.Contains(all[0].text, "interrupted before its time")
		if interrupted != c.r.Interrupted {
			t.Errorf("%s: said to be interrupted: %v", c.name, interrupted)
		}
	}
	_, all := page(t, sampleDifferent())
	says(t, all, "li", "account 5d2f: the engine's balance is 10,000 and the answers say 10,100")
	says(t, all, "p", "15 more are not listed here.")
	_, all = page(t, sampleOverload())
	says(t, all, "p", "The scheme's book was not compared: the engine's scheme is a provider, which has no book to read.")
	says(t, all, "p", "Requests whose outcome the client does not know: 40.")
	says(t, all, "p", "Transactions that were not settled when the audit ended: 12.")
}

// TestPageErrors checks that only runs with errors have a table of them, and that a long table
// is cut.
func TestPageErrors(t *testing.T) {
	for name, want := range map[string]int{"six": 0, "overload": 4, "silent": 1, "long": mostKinds} {
		rows := 0
		_, all := page(t, samples()[name])
		for _, e := range all {
			if e.name == "tr" && strings.Contains(e.path, "table.errors") && strings.Contains(e.path, "tbody") {
				rows++
			}
		}
		if rows != want {
			t.Errorf("%s: %d rows, want %d", name, rows, want)
		}
	}
	_, all := page(t, sampleLong())
	says(t, all, "p", "20 rarer kinds are not listed.")
}

// TestPlural checks how a number and what was counted are shown.
func TestPlural(t *testing.T) {
	for want, got := range map[string]string{
		"1 address":      plural(1, "address"),
		"256 addresses":  plural(256, "address"),
		"0 differences":  plural(0, "difference"),
		"12,345 answers": plural(12_345, "answer"),
		"2 other kinds":  plural(2, "other kind"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
