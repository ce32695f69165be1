package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// exposure is how much of the system the unit may expose, by systemd's own measure.
const exposure = 2.0

// TestPackageUnit checks how far the service is shut off from the system.
func TestPackageUnit(t *testing.T) {
	t.Parallel()
	measure := installed(t, "systemd-analyze") //nolint:misspell // its name
	out, err := exec.CommandContext(t.Context(), measure, "security", "--offline=true", "--no-pager", filepath.Join("..", "..", ".package", "pixd.service")).CombinedOutput()
	found := regexp.MustCompile(`exposure level for pixd\.service: ([0-9.]+)`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := strconv.ParseFloat(string(found[1]), 64); err != nil || got >= exposure {
		t.Errorf("the unit's exposure is %v (%v), and has to be under %v:\n%s", got, err, exposure, out)
	}
}

// TestPackageSettings checks that every setting in the package's file is a flag of serve, with
// its default, or one of the variables that have none.
func TestPackageSettings(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("..", "..", ".package", "pixd.env"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	defaults := map[string]string{adminToken: "", schemeSecret: ""}
	serveCommand().Flags().VisitAll(func(f *pflag.Flag) {
		defaults["PIXD_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = f.DefValue
	})
	examples := []string{"PIXD_TLS_CERT", "PIXD_TLS_KEY", "PIXD_TRUSTED_PROXY", "PIXD_SNAPSHOT_EVERY", "PIXD_SNAPSHOT_KEEP", "PIXD_SNAPSHOT_DIR"}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, set := strings.Cut(strings.TrimPrefix(lines.Text(), "#"), "=")
		if !strings.HasPrefix(name, "PIXD_") || !set {
			if text := lines.Text(); text != "" && !strings.HasPrefix(text, "# ") {
				t.Errorf("%q is neither a setting nor a remark", text)
			}
			continue
		}
		otherwise, known := defaults[name]
		if !known {
			t.Errorf("%s is no flag of serve", name)
		}
		if value != otherwise && !slices.Contains(examples, name) {
			t.Errorf("%s is %q by default, and the file says %q", name, otherwise, value)
		}
	}
}
