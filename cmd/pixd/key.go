package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/registry"
	"pixd/cmd/terminal"
)

func keyCommand() *cobra.Command {
	f := &adminFlags{}
	return group("key", "Make, show, change and revoke merchants' API keys", "  pixd key list --account acc_7oi7njakvirg4", f,
		keyCreate(f), keyList(f), keySet(f), keyRevoke(f))
}

// keyFlags are the flags of the commands that make or change an API key.
type keyFlags struct {
	permissions, ips []string
	expires          string
}

func (k *keyFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&k.permissions, "permission", nil,
		"`NAME` of a permission, or '*' for all; repeatable, or several with commas")
	c.Flags().StringArrayVar(&k.ips, "ip", nil,
		"`ADDRESS` or IPv4 CIDR that requests may come from; repeatable, or several with commas")
	c.Flags().StringVar(&k.expires, "expires-at", "", "`TIME` at which the key ends, such as 2027-01-31T12:00:00Z, or never")
}

var permissionHelp = "\n\nPermissions, or '*' for all of them:\n" + strings.Join(registry.AllPermissions.Names(), ", ") + "."

// given returns those fields of the request body whose flags were given.
func (k *keyFlags) given(c *cobra.Command) map[string]any {
	body := map[string]any{}
	addIfGiven(c, "permission", body, "permissions", several(k.permissions))
	addIfGiven(c, "ip", body, "ip_whitelist", several(k.ips))
	addIfGiven(c, "expires-at", body, "expires_at", k.expires)
	if k.expires == "never" {
		body["expires_at"] = nil
	}
	return body
}

func keyCreate(f *adminFlags) *cobra.Command {
	var k keyFlags
	var of accountFlag
	var noSigning bool
	c := &cobra.Command{
		Use:   "create --account ID --permission P --ip A",
		Short: "Make an API key, and print its secret this once",
		Long: "Makes an API key of an account and prints its secret. The engine keeps the secret's hash alone: it\n" +
			"can never be shown again. A key without a whitelisted address would work from nowhere. Addresses\n" +
			"that can never match are named on standard error." + permissionHelp + adminHelp,
		Example: "  pixd key create --account acc_7oi7njakvirg4 --permission pix:write,pix:read --ip 203.0.113.7",
		Args:    exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := of.path("api-keys")
			if err != nil {
				return err
			}
			body := k.given(c)
			if noSigning {
				body["signing"] = false
			}
			return f.key(c, http.MethodPost, path, body)
		},
	}
	k.add(c)
	of.add(c)
	c.Flags().BoolVar(&noSigning, "no-signing", false, "make a key that only reads: without a signing secret no POST works")
	requireFlags(c, "permission", "ip")
	return c
}

func keySet(f *adminFlags) *cobra.Command {
	var k keyFlags
	c := ofOne(&cobra.Command{
		Use:   "set CLIENT_ID",
		Short: "Change an API key's permissions, addresses or end",
		Long: "Changes what is given, leaves the rest as it is, and shows the key. Lists are replaced whole;\n" +
			"--ip \"\" leaves no address to come from." + permissionHelp + adminHelp,
		Example: "  pixd key set cli_tvdgpfzgsqenfqy7k4vnfsnmzy --ip 203.0.113.7,203.0.113.8 --expires-at never",
	}, "the key to change, as `pixd key list` has it", func(c *cobra.Command, id string) error {
		body := k.given(c)
		if len(body) == 0 {
			return fmt.Errorf("nothing to change: give --permission, --ip or --expires-at")
		}
		return f.key(c, http.MethodPatch, "/admin/api-keys/"+id, body)
	})
	k.add(c)
	return c
}

func keyRevoke(f *adminFlags) *cobra.Command {
	return ofOne(&cobra.Command{
		Use:   "revoke CLIENT_ID",
		Short: "Revoke an API key for good",
		Long: "Revokes an API key and shows it. Requests with it are refused from now on; payouts that it requested\n" +
			"run to their end. A key that is revoked stays so, and stays in the list." + adminHelp,
		Example: "  pixd key revoke cli_tvdgpfzgsqenfqy7k4vnfsnmzy",
	}, "the key to revoke, as `pixd key list` has it", func(c *cobra.Command, id string) error {
		return f.key(c, http.MethodDelete, "/admin/api-keys/"+id, nil)
	})
}

func keyList(f *adminFlags) *cobra.Command {
	return listing[apiKey]{
		words: "pixd key list", path: "api-keys", ofAccount: true, show: apiKeys,
	}.command(f, &cobra.Command{
		Use:   "list --account ID",
		Short: "List an account's API keys, the oldest first",
		Long: "Lists an account's API keys, without their secrets, the oldest first, and when each was last used.\n" +
			"After a kill of the engine that may be a minute behind." + listHelp + adminHelp,
		Example: "  pixd key list --account acc_7oi7njakvirg4",
	})
}

// key sends a request about one key and shows the answer, with its secret if it has one;
// warnings about the key's whitelist go to standard error.
func (f *adminFlags) key(c *cobra.Command, method, path string, body map[string]any) error {
	got, err := f.ask(c, method, path, body)
	if err != nil {
		return err
	}
	var k apiKey
	if err := json.Unmarshal(got, &k); err != nil {
		return fmt.Errorf("%s answers no API key: %w", f.URL, err)
	}
	if method != http.MethodPost {
		k.Secret = "" // only the answer to a POST contains a secret
	}
	if f.JSON {
		err = printJSON(c.OutOrStdout(), got)
	} else {
		_, err = io.WriteString(c.OutOrStdout(), k.facts())
	}
	for _, w := range k.Warnings {
		fmt.Fprintln(c.ErrOrStderr(), "pixd: warning: "+terminal.Plain(w))
	}
	return err
}

// apiKey is an API key in the API's answer.
type apiKey struct {
	ClientID    string `json:"client_id"`
	Secret      string `json:"client_secret"` // only in the answer that creates the key
	Account     string `json:"account_id"`
	Permissions []string
	Whitelist   []string `json:"ip_whitelist"`
	ExpiresAt   *string  `json:"expires_at"`
	Signing     bool
	Active      bool
	CreatedAt   string  `json:"created_at"`
	LastUsedAt  *string `json:"last_used_at"`
	Warnings    []string
}

// state returns the key's state by the clock of the machine on which the command runs. The
// engine decides by engine time.
func (k *apiKey) state() string {
	if !k.Active {
		return "revoked"
	}
	if k.ExpiresAt != nil {
		if t, err := time.Parse(time.RFC3339Nano, *k.ExpiresAt); err == nil && !t.After(time.Now()) {
			return "expired"
		}
	}
	return "active"
}

func (k *apiKey) permissions() string {
	if slices.Equal(k.Permissions, registry.AllPermissions.Names()) {
		return "*"
	}
	return strings.Join(k.Permissions, ",")
}

func apiKeys(all []apiKey) string {
	if len(all) == 0 {
		return "no keys\n"
	}
	columns := []string{"client id", "state", "signing", "last used", "expires", "created", "addresses", "permissions"}
	return rows(columns, all, func(k *apiKey) table.Row {
		return table.Row{
			k.ClientID, k.state(), yes(k.Signing), orElse(k.LastUsedAt, "never", moment), orElse(k.ExpiresAt, "never", moment),
			moment(k.CreatedAt), commaList(k.Whitelist), k.permissions(),
		}
	})
}

const onceOnly = "\nThe secret is shown this once: keep it now. The engine has its hash alone.\n"

func (k *apiKey) facts() string {
	secret, end := leftOut, ""
	if k.Secret != "" {
		secret, end = k.Secret, onceOnly
	}
	addresses := commaList(k.Whitelist)
	if len(k.Whitelist) == 0 {
		addresses += ": it works from nowhere"
	}
	return facts([]fact{
		{"client id", k.ClientID},
		{"client secret", secret},
		{"account", k.Account},
		{"state", k.state()},
		{"permissions", k.permissions()},
		{"addresses", addresses},
		{"signing", yes(k.Signing)},
		{"expires", orElse(k.ExpiresAt, "never", moment)},
		{"last used", orElse(k.LastUsedAt, "never", moment)},
		{"created", moment(k.CreatedAt)},
	}) + end
}
