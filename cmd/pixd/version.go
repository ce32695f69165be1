package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"pixd/httpapi/control"
)

// Set by the Makefile; a plain go build uses the values that the toolchain stamps.
var (
	version = ""
	commit  = ""
)

func build() (string, string) { return control.Stamped(version, commit) }

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, commit and Go version",
		Long:    "Prints the version, the commit that it was built from, and the Go version that built it. It asks no engine.",
		Example: "  pixd version",
		Args:    cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) {
			v, commit := build()
			fmt.Fprintf(c.OutOrStdout(), "pixd %s\ncommit %s\n%s\n", v, commit, runtime.Version())
		},
	}
}
