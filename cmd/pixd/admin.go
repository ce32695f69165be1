package main

import (
	"errors"
	"fmt"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"pixd/cmd/operator"
)

// adminFlags are the flags of every command that calls a running engine.
type adminFlags struct{ operator.Flags }

const adminHelp = "\n\nIt asks a running engine, at --admin, with the operators' token: from --token-file, else from\n" +
	"PIXD_ADMIN_TOKEN, else from ./pixd-data/admin.token, else from " + operator.InstalledToken + ".\n" +
	"--json prints the API's answer.\n" +
	"Exit status 1, with one line that says why, where it cannot be done."

// help says how the server is found that a command calls.
func (f *adminFlags) help() string {
	if f.Flag == "sim" {
		return simHelp
	}
	return adminHelp
}

// notEmpty returns what refuses a body without members, with the given error.
func notEmpty(otherwise string) func(*cobra.Command, map[string]any) error {
	return func(_ *cobra.Command, body map[string]any) error {
		if len(body) == 0 {
			return errors.New(otherwise)
		}
		return nil
	}
}

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

// requireFlags makes cobra refuse a command line without these flags.
func requireFlags(c *cobra.Command, names ...string) {
	for _, name := range names {
		_ = c.MarkFlagRequired(name) // an error only for a flag that c does not have
	}
}

// accountFlag is the flag of a command about what one account has.
type accountFlag struct{ id string }

func (a *accountFlag) add(c *cobra.Command) {
	c.Flags().StringVar(&a.id, "account", "", "the account's `ID`")
	requireFlags(c, "account")
}

// path returns the path of what the account has.
func (a *accountFlag) path(what string) (string, error) {
	id, err := operator.Segment(a.id)
	if err != nil {
		return "", fmt.Errorf("--account: %w", err)
	}
	return "/admin/accounts/" + id + "/" + what, nil
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
