// Command pixbench loads an engine with requests, reports what it measured, and audits the books
// that the load has made.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"pixd/bench"
	"pixd/cmd/engine"
	"pixd/cmd/terminal"
	"pixd/httpapi/control"
)

func main() {
	if bench.Playing() {
		if err := bench.Play(os.Args[1:], build()); err != nil {
			fail(err)
		}
		return
	}
	if err := root().ExecuteContext(context.Background()); err != nil {
		fail(err)
	}
}

// fail ends the process with one line that says what failed.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "pixbench: "+terminal.Plain(strings.ReplaceAll(err.Error(), "\n", "; ")))
	os.Exit(1)
}

func build() engine.Build {
	v, commit := control.Stamped(version, commit)
	return engine.Build{Version: v, Commit: commit}
}

// Set by the Makefile; a plain go build uses the values that the toolchain stamps.
var (
	version = ""
	commit  = ""
)

func root() *cobra.Command {
	run := runCommand()
	c := &cobra.Command{
		Use:   "pixbench",
		Short: "Load an engine, and audit what it did",
		Long: "pixbench loads a pixd engine with requests of many merchants, reports requests per second and latencies,\n" +
			"and audits the books at the end. Without a command it does what `pixbench run` does.",
		Example:       "  pixbench\n  pixbench run --scenario cash-out --rate 1500 --html cash-out.html",
		Version:       build().Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs, // an unknown command is an error, not a load
		RunE:          run.RunE,
	}
	c.Flags().AddFlagSet(run.Flags())
	c.AddCommand(run, compareCommand(), limitCommand(), versionCommand())
	terminal.Help(c)
	return c
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, commit and Go version",
		Long:    "Prints the version, the commit that it was built from, and the Go version that built it.",
		Example: "  pixbench version",
		Args:    cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) {
			b := build()
			fmt.Fprintf(c.OutOrStdout(), "pixbench %s\ncommit %s\n%s\n", b.Version, b.Commit, runtime.Version())
		},
	}
}
