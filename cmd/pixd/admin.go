package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-json"

	"github.com/spf13/cobra"

	"pixd/cmd/engine"
)

// adminFlags are the flags of every command that calls a running engine.
type adminFlags struct {
	url       string
	tokenFile string
	ca        string
	json      bool

	flag string // name of the flag for the server's URL; empty: admin
	asks string // kind of server that the command calls: "engine" or "simulator"; empty: "engine"
}

const adminHelp = "\n\nIt asks a running engine, at --admin, with the operators' token: from --token-file, else from\n" +
	"PIXD_ADMIN_TOKEN, else from ./pixd-data/admin.token where that is. --json prints the API's answer.\n" +
	"Exit status 1, with one line that says why, where it cannot be done."

func (f *adminFlags) add(c *cobra.Command) {
	flags := c.PersistentFlags()
	if f.flag == "" {
		f.flag, f.asks, f.url = "admin", "engine", "http://"+engine.Defaults().AdminListen
	}
	flags.StringVar(&f.url, f.flag, f.url, "the "+f.asks+"'s operator API, as a `URL`")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the operators' token")
	flags.StringVar(&f.ca, f.flag+"-ca", "", "`FILE` with the CA, or the certificate itself, in PEM, that an https --"+f.flag+" is trusted by")
	flags.BoolVar(&f.json, "json", false, "print JSON, for scripts")
}

// client returns a client of the API that the flags name.
func (f *adminFlags) client() (*adminClient, error) {
	base, err := url.Parse(f.url)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" ||
		base.User != nil || strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("--%s %q: a URL such as http://127.0.0.1:8081 or https://pixd.example:8081", f.flag, f.url)
	}
	o := &adminClient{base: base.Scheme + "://" + base.Host, asks: f.asks, flag: f.flag}
	if o.token, o.source, err = f.token(); err != nil {
		return nil, err
	}
	if f.ca == "" {
		return o, nil
	}
	if base.Scheme != "https" {
		return nil, fmt.Errorf("--%s-ca is for an https --%[1]s, which is %s", f.flag, f.url)
	}
	o.http, err = trusting(f.flag+"-ca", f.ca)
	return o, err
}

// token returns the operators' token, and where it was found, for error messages.
func (f *adminFlags) token() (token, source string, err error) {
	given := os.Getenv(adminToken)
	path := f.tokenFile
	switch {
	case path == "" && given != "":
		return given, adminToken, usable(given, adminToken)
	case path == "":
		path = filepath.Join(engine.Defaults().DataDir, engine.TokenFile)
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && f.tokenFile == "" {
		return "", "", fmt.Errorf("no operators' token: set PIXD_ADMIN_TOKEN, or name <data-dir>/%s with --token-file", engine.TokenFile)
	}
	if err != nil {
		return "", "", fmt.Errorf("operators' token: %w", err)
	}
	token = strings.TrimSpace(string(b))
	return token, path, usable(token, path)
}

// usable returns an error for a token that cannot be sent in a header. The error does not
// show the token.
func usable(token, source string) error {
	if token == "" {
		return fmt.Errorf("operators' token: %s is empty", source)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c >= 0x7f {
			return fmt.Errorf("operators' token: %s holds no token, which is one word", source)
		}
	}
	return nil
}

// trusting returns a client that trusts only the certificates in a file.
func trusting(flag, file string) (*http.Client, error) {
	trust, err := engine.Trusting(flag, file)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = trust
	return newClient(t), nil
}

// segment returns an id escaped as one segment of a URL path.
func segment(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("%q is no id", id)
	}
	return url.PathEscape(id), nil
}

// group returns a command that only has subcommands.
func group(use, short, example string, f *adminFlags, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: short + "." + adminHelp, Example: example,
		Args: cobra.NoArgs, // an unknown subcommand is an error, not a call for help
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f.add(c)
	c.AddCommand(commands...)
	return c
}

// ofOne makes c a command with exactly one argument, an id; what says what the id names.
func ofOne(c *cobra.Command, what string, run func(c *cobra.Command, id string) error) *cobra.Command {
	c.Args = exactly(1, what)
	c.RunE = func(c *cobra.Command, args []string) error {
		id, err := segment(args[0])
		if err != nil {
			return err
		}
		return run(c, id)
	}
	return c
}

// ask sends a command's request and returns the answer's JSON.
func (f *adminFlags) ask(c *cobra.Command, method, path string, body map[string]any) (json.RawMessage, error) {
	o, err := f.client()
	if err != nil {
		return nil, err
	}
	if body == nil {
		return o.do(c.Context(), method, path, nil)
	}
	return o.do(c.Context(), method, path, body)
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
