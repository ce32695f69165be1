package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the Makefile; a plain go build uses the values that the toolchain stamps.
var (
	version = ""
	commit  = ""
)

func build() (string, string) {
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

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, commit and Go version",
		Example: "  pixd version",
		Args:    cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) {
			v, commit := build()
			fmt.Fprintf(c.OutOrStdout(), "pixd %s\ncommit %s\n%s\n", v, commit, runtime.Version())
		},
	}
}
