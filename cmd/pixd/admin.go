package main

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"pixd/cmd/operator"
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

// answer says how answers of one form are shown.
type answer[T any] struct {
	otherwise string          // what the server answers if the answer has another form, for the error
	show      func(*T) string // makes the text
}

// print sends a command's request and prints the answer: as JSON with --json, else as text.
func (a answer[T]) print(c *cobra.Command, f *adminFlags, method, path string, body map[string]any) error {
	got, err := f.ask(c, method, path, body)
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(c.OutOrStdout(), got)
	}
	var v T
	if err := json.Unmarshal(got, &v); err != nil {
		return fmt.Errorf("%s answers %s: %w", f.URL, a.otherwise, err)
	}
	_, err = io.WriteString(c.OutOrStdout(), a.show(&v))
	return err
}

// addIfGiven adds a flag's value to the body of a request, if the flag was given.
func addIfGiven(c *cobra.Command, flag string, body map[string]any, field string, value any) {
	if c.Flags().Changed(flag) {
		body[field] = value
	}
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

// operatorFlag is the flag with the name of the operator who decides.
type operatorFlag struct{ name string }

// add declares the flag; kept says where the name is kept.
func (o *operatorFlag) add(c *cobra.Command, kept string) {
	c.Flags().StringVar(&o.name, "operator", "", "the `NAME` of who decides, 1 to 100 characters; it is "+kept)
	requireFlags(c, "operator")
}

// body is the body of a request that names the operator.
func (o *operatorFlag) body() (map[string]any, error) {
	if err := checkText("operator", o.name); err != nil {
		return nil, err
	}
	return map[string]any{"operator": o.name}, nil
}

// checkText refuses a flag's value that is not in UTF-8: JSON would replace the invalid bytes.
func checkText(flag, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("--%s is not in UTF-8", flag)
	}
	return nil
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
