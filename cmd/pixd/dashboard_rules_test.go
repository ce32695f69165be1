package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what the rules look at.
type dashboard struct {
	Editable   bool
	Templating struct {
		List []struct {
			Name, Type, Definition string
			Refresh                int
			Datasource             source
		}
	}
	Panels []panel
}

type panel struct {
	Type, Title, Description string
	Datasource               source
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		Expr       string
		Datasource source
	}
}

type source struct{ UID string }

// panelUnits are the units of Grafana that the dashboard may have. A word that Grafana does not know is shown as it is.
var panelUnits = []string{"short", "s", "bytes", "ops", "percentunit", "reqps"}

// TestDashboardRules holds the dashboard against the rules of Grafana's dashboard-linter (`make lint-dashboard` runs the
// linter itself): one source of data, job and instance for all panels, titles, descriptions and units, no counter
// without a rate, and rates over the interval that Grafana chooses.
func TestDashboardRules(t *testing.T) {
	text, err := os.ReadFile(examples("grafana", "pixd.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Editable {
		t.Error("it can be edited in Grafana, where the change is lost")
	}
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name+" "+v.Type)
		if v.Type == "query" && (v.Refresh != 2 || v.Datasource.UID != "${datasource}" || !strings.HasPrefix(v.Definition, "label_values(")) {
			t.Errorf("variable %s: %+v", v.Name, v)
		}
	}
	if want := []string{"datasource datasource", "job query", "instance query"}; !slices.Equal(names, want) {
		t.Errorf("variables %q, want %q", names, want)
	}
	shown := 0
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		shown++
		p.judge(t)
	}
	if shown < 20 {
		t.Errorf("%d panels", shown)
	}
}

// selector finds a metric and its matchers in a query, aCounter one whose metric is a counter, rated what may be
// asked of it, and rate a rate with its window.
var (
	selector = regexp.MustCompile(`\bpixd_\w+(\{[^}]*\})?`)
	aCounter = regexp.MustCompile(`\bpixd_\w+_total\b`)
	rated    = regexp.MustCompile(`\b(rate|increase)\(pixd_\w+_total\{[^}]*\}\[`)
	rate     = regexp.MustCompile(`\brate\([^\[]*(\[[^\]]*\])`)
)

func (p panel) judge(t *testing.T) {
	t.Helper()
	if p.Title == "" || p.Description == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
		t.Errorf("%q: a title, a description, a query and the dashboard's source of data are needed", p.Title)
	}
	if !slices.Contains(panelUnits, p.FieldConfig.Defaults.Unit) {
		t.Errorf("%q: unit %q", p.Title, p.FieldConfig.Defaults.Unit)
	}
	for _, q := range p.Targets {
		if q.Datasource.UID != "${datasource}" {
			t.Errorf("%q: data of %q", p.Title, q.Datasource.UID)
		}
		for _, s := range selector.FindAllString(q.Expr, -1) {
			if !strings.Contains(s, `job=~"$job"`) || !strings.Contains(s, `instance=~"$instance"`) {
				t.Errorf("%q: %s does not choose job and instance", p.Title, s)
			}
		}
		if len(aCounter.FindAllString(q.Expr, -1)) != len(rated.FindAllString(q.Expr, -1)) {
			t.Errorf("%q: a counter without its rate or increase: %s", p.Title, q.Expr)
		}
		for _, r := range rate.FindAllStringSubmatch(q.Expr, -1) {
			if r[1] != "[$__rate_interval]" {
				t.Errorf("%q: the rate's window is %s", p.Title, r[1])
			}
		}
	}
}
