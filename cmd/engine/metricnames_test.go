package engine

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricName   = regexp.MustCompile(`\bpixd_[a-z_]+`)
	quotedMetric = regexp.MustCompile(`"pixd_[a-z_]+"`)
	histogram    = regexp.MustCompile(`_(bucket|count|sum)$`)
	ruleName     = regexp.MustCompile(`- alert: (\w+)`)
	kindsOfRule  = regexp.MustCompile(`kind=~"([a-z_|]+)"`)
)

// fileText returns the text of a file of the module.
func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// metricsMade returns the names of all metrics.
func metricsMade(t *testing.T) []string {
	t.Helper()
	made := map[string]bool{}
	for _, s := range everySource(t) {
		if strings.HasPrefix(s.file, "cmd/") {
			for _, name := range quotedMetric.FindAllString(fileText(t, s.file), -1) {
				made[strings.Trim(name, `"`)] = true
			}
		}
	}
	if len(made) < 30 {
		t.Fatalf("%d metrics found", len(made))
	}
	return slices.Collect(maps.Keys(made))
}

// namedIn returns the metrics that a file names; a name that ends in _ stands for all that begin with it.
func namedIn(t *testing.T, file string) (names []string) {
	t.Helper()
	for _, name := range metricName.FindAllString(fileText(t, file), -1) {
		names = append(names, histogram.ReplaceAllString(name, ""))
	}
	return names
}

// TestMetricNames checks that docs/metrics.md lists every metric, and that no page, rule or panel
// names one that does not exist.
func TestMetricNames(t *testing.T) {
	made := metricsMade(t)
	listed := namedIn(t, "docs/metrics.md")
	for _, name := range made {
		if !slices.Contains(listed, name) {
			t.Errorf("docs/metrics.md lacks %s", name)
		}
	}
	for _, pages := range []string{"docs/*.md", "README.md", "examples/prometheus/*.yml", "examples/grafana/*.json"} {
		files, err := filepath.Glob(filepath.Join(moduleRoot, pages))
		if err != nil || len(files) == 0 {
			t.Fatal(pages, err)
		}
		for _, file := range files {
			file, _ = filepath.Rel(moduleRoot, file)
			for _, name := range namedIn(t, file) {
				if !slices.ContainsFunc(made, func(m string) bool { return m == name || strings.HasSuffix(name, "_") && strings.HasPrefix(m, name) }) {
					t.Errorf("%s names %s, which does not exist", file, name)
				}
			}
		}
	}
}

// TestRulesHaveTests checks that rules_test.yml has two tests of each rule, one in which it fires, and
// that the rules name alerts that exist.
func TestRulesHaveTests(t *testing.T) {
	rules, tests := fileText(t, "examples/prometheus/rules.yml"), fileText(t, "examples/prometheus/rules_test.yml")
	for _, rule := range ruleName.FindAllStringSubmatch(rules, -1) {
		fires := strings.Contains(tests, `ALERTS{alertname="`+rule[1]+`",alertstate="firing",`)
		rests := regexp.MustCompile(`alertname="` + rule[1] + `",alertstate="firing"}', eval_time: \w+, exp_samples: \[\]`).MatchString(tests)
		if !fires || !rests {
			t.Errorf("%s: a test in which it fires: %v, one in which it does not: %v", rule[1], fires, rests)
		}
	}
	for kind := range strings.SplitSeq(kindsOfRule.FindStringSubmatch(rules)[1], "|") {
		if !slices.Contains(alertKinds, kind) {
			t.Errorf("a rule names the alert %s, which does not exist", kind)
		}
	}
}
