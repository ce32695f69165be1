package control

import "runtime/debug"

// Build is the version and the commit that the binary was built from.
type Build struct{ Version, Commit string }

// Stamped returns a program's version and commit: those that its build has set, else those that
// the toolchain has stamped.
func Stamped(version, commit string) (string, string) {
	v, c := version, commit
	if info, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && c == "" {
				c = s.Value
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "0.0.0-dev"
	}
	if c == "" {
		c = "unknown"
	}
	return v, c
}
