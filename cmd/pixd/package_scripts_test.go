package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackageScripts runs the scripts of the packages as dpkg and rpm call them, with paths in a folder of the test
// and with systemctl and the programs for users replaced by ones that write what they were called with. No call
// touches the data or the settings; a removal stops the engine; an upgrade starts it again only if it runs.
func TestPackageScripts(t *testing.T) {
	t.Parallel()
	const (
		reload, again   = "systemctl daemon-reload\n", "systemctl daemon-reload\nsystemctl try-restart pixd.service\n"
		stops           = "systemctl disable --now pixd.service\n"
		users           = "getent group pixd\ngroupadd --system pixd\ngetent passwd pixd\nuseradd --system "
		welcome, parted = "pixd is installed and not started.", "/var/lib/pixd is kept"
	)
	for call, want := range map[string][2]string{ // what it calls, and what it says
		"preinst install": {users}, "preinst upgrade 1.0": {users}, "preinst 1": {users}, "preinst 2": {users},
		"postinst configure": {reload, welcome}, "postinst configure 1.0": {again}, "postinst abort-upgrade 1.0": {},
		"postinst 1": {reload, welcome}, "postinst 2": {again},
		"prerm remove": {stops}, "prerm upgrade 2.0": {}, "prerm 0": {stops}, "prerm 1": {},
		"postrm remove": {reload, parted}, "postrm purge": {reload, parted}, "postrm upgrade 2.0": {reload}, "postrm disappear": {reload},
		"postrm 0": {reload, parted}, "postrm 1": {reload},
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			s := newSmallSystem(t)
			said := s.run(call)
			if calls := s.read("calls"); calls != want[0] && (want[0] != users || !strings.HasPrefix(calls, users)) {
				t.Errorf("calls %q, want %q", calls, want[0])
			}
			if !strings.Contains(said, want[1]) || want[1] == "" && said != "" {
				t.Errorf("says %q, want %q", said, want[1])
			}
			for _, kept := range []string{"var/lib/pixd/wal/segment", "etc/pixd/pixd.env"} {
				if s.read(kept) != "kept" {
					t.Errorf("/%s is touched", kept)
				}
			}
		})
	}
}

// smallSystem is a folder in which the scripts of a package run as if it were the whole file system.
type smallSystem struct {
	t   *testing.T
	dir string
}

func newSmallSystem(t *testing.T) *smallSystem {
	t.Helper()
	s := &smallSystem{t: t, dir: t.TempDir()}
	s.write("var/lib/pixd/wal/segment", "kept")
	s.write("etc/pixd/pixd.env", "kept")
	s.write("run/systemd/system/unit", "")
	s.write("calls", "")
	for _, name := range []string{"systemctl", "groupadd", "useradd"} {
		s.write("bin/"+name, "#!/bin/sh\necho "+name+" \"$@\" >>"+s.dir+"/calls\n")
	}
	s.write("bin/getent", "#!/bin/sh\necho getent \"$@\" >>"+s.dir+"/calls\nexit 2\n")
	for _, name := range []string{"ls", "rm", "find", "install"} {
		if err := os.Symlink(installed(t, name), filepath.Join(s.dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *smallSystem) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // some are programs
		s.t.Fatal(err)
	}
}

func (s *smallSystem) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return string(text)
}

// absolute finds the paths of a script that belong to the file system.
var absolute = regexp.MustCompile(`(^|[\s"'=])/(var|etc|run|usr|home|root|opt|srv)\b`)

// run runs a script as it is called, and returns what it says.
func (s *smallSystem) run(call string) string {
	s.t.Helper()
	words := strings.Fields(call)
	text, err := os.ReadFile(filepath.Join("..", "..", ".package", words[0]))
	if err != nil {
		s.t.Fatal(err)
	}
	c := exec.CommandContext(s.t.Context(), "/bin/sh", append([]string{"-c", absolute.ReplaceAllString(string(text), "${1}"+s.dir+"/${2}")}, words...)...)
	c.Dir, c.Env = s.dir, []string{"PATH=" + filepath.Join(s.dir, "bin")}
	said, err := c.CombinedOutput()
	if err != nil {
		s.t.Errorf("%v\n%s", err, said)
	}
	return string(said)
}
