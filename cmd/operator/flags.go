package operator

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pixd/cmd/certificate"
	"pixd/cmd/engine"
	"pixd/cmd/serving"
)

// TokenVariable is the environment variable with the operators' token.
const TokenVariable = "PIXD_ADMIN_TOKEN"

// InstalledToken is the file of the operators' token of an engine that a package has installed.
const InstalledToken = "/var/lib/pixd/" + serving.TokenFile

// Flags are the flags of every command that calls a running engine.
type Flags struct {
	URL       string
	TokenFile string
	CA        string
	JSON      bool

	Flag string // name of the flag for the server's URL; empty: admin
	Asks string // kind of server that the command calls: "engine" or "simulator"; empty: "engine"
}

// Add adds the flags to a command.
func (f *Flags) Add(c *cobra.Command) {
	flags := c.PersistentFlags()
	if f.Flag == "" {
		f.Flag, f.Asks, f.URL = "admin", "engine", "http://"+engine.Defaults().AdminListen
	}
	flags.StringVar(&f.URL, f.Flag, f.URL, "the "+f.Asks+"'s operator API, as a `URL`")
	flags.StringVar(&f.TokenFile, "token-file", "", "`FILE` with the operators' token")
	flags.StringVar(&f.CA, f.Flag+"-ca", "", "`FILE` with the CA, or the certificate itself, in PEM, that an https --"+f.Flag+" is trusted by")
	flags.BoolVar(&f.JSON, "json", false, "print JSON, for scripts")
}

// Client returns a client of the API that the flags name.
func (f *Flags) Client() (*Client, error) {
	base, err := url.Parse(f.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" ||
		base.User != nil || strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("--%s %q: a URL such as http://127.0.0.1:8081 or https://pixd.example:8081", f.Flag, f.URL)
	}
	o := &Client{Base: base.Scheme + "://" + base.Host, Asks: f.Asks, Flag: f.Flag}
	if o.Token, o.Source, err = f.token(); err != nil {
		return nil, err
	}
	if f.CA == "" {
		return o, nil
	}
	if base.Scheme != "https" {
		return nil, fmt.Errorf("--%s-ca is for an https --%[1]s, which is %s", f.Flag, f.URL)
	}
	o.HTTP, err = trustingClient(f.Flag+"-ca", f.CA)
	return o, err
}

// token returns the operators' token, and where it was found, for error messages.
func (f *Flags) token() (token, source string, err error) {
	given := os.Getenv(TokenVariable)
	path := f.TokenFile
	switch {
	case path == "" && given != "":
		return given, TokenVariable, usable(given, TokenVariable)
	case path == "":
		path = filepath.Join(engine.Defaults().DataDir, serving.TokenFile)
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && f.TokenFile == "" {
		path = InstalledToken
		b, err = os.ReadFile(path)
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && f.TokenFile == "":
		return "", "", fmt.Errorf("no operators' token: set PIXD_ADMIN_TOKEN, or name <data-dir>/%s with --token-file", serving.TokenFile)
	case errors.Is(err, os.ErrPermission) && f.TokenFile == "":
		return "", "", fmt.Errorf("no operators' token: %s is for the user pixd: use sudo, or set PIXD_ADMIN_TOKEN, or name a file with --token-file", path)
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

// trustingClient returns a client that trusts only the certificates in a file.
func trustingClient(flag, file string) (*http.Client, error) {
	trust, err := certificate.Trusting(flag, file)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = trust
	return NewHTTP(t), nil
}

// Segment returns an id escaped as one segment of a URL path.
func Segment(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("%q is no id", id)
	}
	return url.PathEscape(id), nil
}
