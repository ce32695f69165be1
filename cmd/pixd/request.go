package main

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"pixd/cmd/operator"
)

// A request is a command that sends one request to the operator API and prints the answer.
type request struct {
	use, short, long, example string // its help; command adds to long how the server is found

	of        string // what its argument names; empty: it takes none
	method    string
	path      string         // {id} stands for the argument; with ofAccount it is below the account's path
	ofAccount bool           // the request is about what the account has that --account names
	member    string         // the member of the body that the argument is; empty: none
	with      map[string]any // members that the body always has
	fields    []field
	check     func(c *cobra.Command, body map[string]any) error // refuses or completes the body; may be nil
	print     printer
}

// command makes the command.
func (r request) command(f *adminFlags) *cobra.Command {
	c := &cobra.Command{Use: r.use, Short: r.short, Long: r.long + f.help(), Example: r.example, Args: exactly(0, "")}
	if r.of != "" {
		c.Args = exactly(1, r.of)
	}
	var of accountFlag
	if r.ofAccount {
		of.add(c)
	}
	for _, x := range r.fields {
		x.add(c)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		path, err := r.target(&of, args)
		if err != nil {
			return err
		}
		body, err := r.body(c, args)
		if err != nil {
			return err
		}
		got, err := f.ask(c, r.method, path, body)
		if err != nil {
			return err
		}
		return r.print(c, f, got)
	}
	return c
}

// alone makes the command with flags of its own for the server.
func (r request) alone(f *adminFlags) *cobra.Command {
	c := r.command(f)
	f.Add(c)
	return c
}

// target returns the path of the request.
func (r *request) target(of *accountFlag, args []string) (string, error) {
	if r.ofAccount {
		return of.path(r.path)
	}
	if r.of == "" {
		return r.path, nil
	}
	id, err := operator.Segment(args[0])
	return strings.Replace(r.path, "{id}", id, 1), err
}

// body returns the body of the request; nil: it has none.
func (r *request) body(c *cobra.Command, args []string) (map[string]any, error) {
	if len(r.fields) == 0 && r.member == "" && r.with == nil {
		return nil, nil
	}
	body := map[string]any{}
	maps.Copy(body, r.with)
	if r.member != "" {
		body[r.member] = args[0]
	}
	for _, x := range r.fields {
		if err := x.put(c, body); err != nil {
			return nil, err
		}
	}
	if r.check == nil {
		return body, nil
	}
	return body, r.check(c, body)
}

// A field is a flag whose value is sent in the body of a request, if the flag is given.
type field struct {
	flag   string
	member string // of the body; fees.cash_in is the member cash_in of the member fees
	kind   any    // the value without the flag; its type is that of the flag
	help   string
	must   bool                      // the command needs the flag
	as     func(string) (any, error) // what a text is sent as; nil: as it is
}

// add declares the flag.
func (x *field) add(c *cobra.Command) {
	flags := c.Flags()
	switch otherwise := x.kind.(type) {
	case string:
		flags.String(x.flag, otherwise, x.help)
	case int64:
		flags.Int64(x.flag, otherwise, x.help)
	case bool:
		flags.Bool(x.flag, otherwise, x.help)
	case []string:
		flags.StringArray(x.flag, otherwise, x.help)
	}
	if x.must {
		requireFlags(c, x.flag)
	}
}

// put puts the flag's value into the body, if the flag was given.
func (x *field) put(c *cobra.Command, body map[string]any) error {
	if !c.Flags().Changed(x.flag) {
		return nil
	}
	value, err := x.value(c)
	if err != nil {
		return err
	}
	path := strings.Split(x.member, ".")
	last := len(path) - 1
	for _, name := range path[:last] {
		if body[name] == nil {
			body[name] = map[string]any{}
		}
		body = body[name].(map[string]any)
	}
	body[path[last]] = value
	return nil
}

func (x *field) value(c *cobra.Command) (any, error) {
	flags := c.Flags()
	switch x.kind.(type) {
	case int64:
		return flags.GetInt64(x.flag)
	case bool:
		return flags.GetBool(x.flag)
	case []string:
		all, err := flags.GetStringArray(x.flag)
		return several(all), err
	}
	text, err := flags.GetString(x.flag)
	switch {
	case err != nil:
		return nil, err
	case !utf8.ValidString(text): // JSON would replace the invalid bytes
		return nil, fmt.Errorf("--%s is not in UTF-8", x.flag)
	case x.as != nil:
		return x.as(text)
	}
	return text, nil
}

// operatorField is the flag with the name of the operator who decides; kept says where the
// name is kept.
func operatorField(kept string) field {
	return field{flag: "operator", member: "operator", kind: "", help: "the `NAME` of who decides, 1 to 100 characters; it is " + kept + "; with an operator's own token it is the token's, and may be left out"}
}

// several splits the values of a repeated flag at their commas.
func several(values []string) []string {
	all := []string{}
	for _, v := range values {
		for _, one := range strings.Split(v, ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

// A printer prints an answer.
type printer func(c *cobra.Command, f *adminFlags, got json.RawMessage) error

// printing returns what prints answers of one form: as JSON with --json, else as the text that
// show makes. otherwise says what the server answers if the answer has another form.
func printing[T any](otherwise string, show func(*T) string) printer {
	return func(c *cobra.Command, f *adminFlags, got json.RawMessage) error {
		if f.JSON {
			return printJSON(c.OutOrStdout(), got)
		}
		var v T
		if err := json.Unmarshal(got, &v); err != nil {
			return fmt.Errorf("%s answers %s: %w", f.URL, otherwise, err)
		}
		_, err := io.WriteString(c.OutOrStdout(), show(&v))
		return err
	}
}
