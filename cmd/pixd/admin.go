package main

import (
	"errors"
	"fmt"

	"pixd/cmd/operator"

	"github.com/goccy/go-json"

	"github.com/spf13/cobra"
)

// adminFlags are the flags of every command that calls a running engine.
type adminFlags struct{ operator.Flags }

const adminHelp = "\n\nIt asks a running engine, at --admin, with the operators' token: from --token-file, else from\n" +
	"PIXD_ADMIN_TOKEN, else from ./pixd-data/admin.token where that is. --json prints the API's answer.\n" +
	"Exit status 1, with one line that says why, where it cannot be done."

// group returns a command that only has subcommands.
func group(use, short, example string, f *adminFlags, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: short + "." + adminHelp, Example: example,
		Args: cobra.NoArgs, // an unknown subcommand is an error, not a call for help
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f.Add(c)
	c.AddCommand(commands...)
	return c
}

// ofOne makes c a command with exactly one argument, an id; what says what the id names.
func ofOne(c *cobra.Command, what string, run func(c *cobra.Command, id string) error) *cobra.Command {
	c.Args = exactly(1, what)
	c.RunE = func(c *cobra.Command, args []string) error {
		id, err := operator.Segment(args[0])
		if err != nil {
			return err
		}
		return run(c, id)
	}
	return c
}

// ask sends a command's request and returns the answer's JSON.
func (f *adminFlags) ask(c *cobra.Command, method, path string, body map[string]any) (json.RawMessage, error) {
	o, err := f.Client()
	if err != nil {
		return nil, err
	}
	if body == nil {
		return o.Do(c.Context(), method, path, nil)
	}
	return o.Do(c.Context(), method, path, body)
}

// exactly accepts exactly n arguments. A switch's value needs its "=", as in --active=false;
// where a user forgot it, the error says so.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		if len(args) > n && (args[n] == "true" || args[n] == "false") {
			return fmt.Errorf("%q stands alone: a switch takes its value with a =, such as --active=%s", args[n], args[n])
		}
		if len(args) > n {
			return fmt.Errorf("%q is one word too many", args[n])
		}
		return errors.New("name " + what)
	}
}
