package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/registry"
	"pixd/cmd/terminal"
	"pixd/httpapi/admin"
)

func keyCommand() *cobra.Command {
	f := &adminFlags{}
	create := keyCreate.command(f)
	create.Flags().Bool("no-signing", false, "make a key that only reads: without a signing secret no POST works")
	requireFlags(create, "permission", "ip")
	return group("key", "Make, show, change and revoke merchants' API keys", "  pixd key list --account acc_7oi7njakvirg4", f,
		create, keyList.command(f), keySet.command(f), keyRevoke.command(f))
}

// keyFlags are the flags of the commands that make or change an API key.
var keyFlags = []field{
	{flag: "permission", member: "permissions", kind: []string(nil), help: "`NAME` of a permission, or '*' for all; repeatable, or several with commas"},
	{flag: "ip", member: "ip_whitelist", kind: []string(nil), help: "`ADDRESS` or IPv4 CIDR that requests may come from; repeatable, or several with commas"},
	{flag: "expires-at", member: "expires_at", kind: "", as: expiry, help: "`TIME` at which the key ends, such as 2027-01-31T12:00:00Z, or never"},
}

// expiry returns a key's end in the API's form: null for "never".
func expiry(text string) (any, error) {
	if text == "never" {
		return nil, nil
	}
	return text, nil
}

var permissionHelp = "\n\nPermissions, or '*' for all of them:\n" + strings.Join(registry.AllPermissions.Names(), ", ") + "."

var keyCreate = request{
	use:   "create --account ID --permission P --ip A",
	short: "Make an API key, and print its secret this once",
	long: "Makes an API key of an account and prints its secret. The engine keeps the secret's hash alone: it\n" +
		"can never be shown again. A key without a whitelisted address would work from nowhere. Addresses\n" +
		"that can never match are named on standard error." + permissionHelp,
	example: "  pixd key create --account acc_7oi7njakvirg4 --permission pix:write,pix:read --ip 203.0.113.7",
	method:  http.MethodPost, ofAccount: true, path: "api-keys", fields: keyFlags, print: printKey(true),
	check: func(c *cobra.Command, body map[string]any) error {
		readOnly, err := c.Flags().GetBool("no-signing")
		if readOnly {
			body["signing"] = false
		}
		return err
	},
}

var keySet = request{
	use:   "set CLIENT_ID",
	short: "Change an API key's permissions, addresses or end",
	long: "Changes what is given, leaves the rest as it is, and shows the key. Lists are replaced whole;\n" +
		"--ip \"\" leaves no address to come from." + permissionHelp,
	example: "  pixd key set cli_tvdgpfzgsqenfqy7k4vnfsnmzy --ip 203.0.113.7,203.0.113.8 --expires-at never",
	of:      "the key to change, as `pixd key list` has it",
	method:  http.MethodPatch, path: "/admin/api-keys/{id}", fields: keyFlags, print: printKey(false),
	check: notEmpty("nothing to change: give --permission, --ip or --expires-at"),
}

var keyRevoke = request{
	use:   "revoke CLIENT_ID",
	short: "Revoke an API key for good",
	long: "Revokes an API key and shows it. Requests with it are refused from now on; payouts that it requested\n" +
		"run to their end. A key that is revoked stays so, and stays in the list.",
	example: "  pixd key revoke cli_tvdgpfzgsqenfqy7k4vnfsnmzy",
	of:      "the key to revoke, as `pixd key list` has it",
	method:  http.MethodDelete, path: "/admin/api-keys/{id}", print: printKey(false),
}

var keyList = listing[admin.APIKey]{
	use:   "list --account ID",
	short: "List an account's API keys, the oldest first",
	long: "Lists an account's API keys, without their secrets, the oldest first, and when each was last used.\n" +
		"After a kill of the engine that may be a minute behind.",
	example: "  pixd key list --account acc_7oi7njakvirg4",
	path:    "api-keys", ofAccount: true, show: apiKeys,
}

// printKey returns what prints a key, with its secret where the answer is of a request that
// made it; warnings about the key's whitelist go to standard error.
func printKey(made bool) printer {
	show := printing("no API key", func(k *admin.APIKey) string {
		if !made {
			k.ClientSecret = ""
		}
		return keyFacts(k)
	})
	return func(c *cobra.Command, f *adminFlags, got json.RawMessage) error {
		var k admin.APIKey
		if err := json.Unmarshal(got, &k); err != nil {
			return fmt.Errorf("%s answers no API key: %w", f.URL, err)
		}
		err := show(c, f, got)
		for _, w := range k.Warnings {
			fmt.Fprintln(c.ErrOrStderr(), "pixd: warning: "+terminal.Plain(w))
		}
		return err
	}
}

// keyState returns the key's state by the clock of the machine on which the command runs. The
// engine decides by engine time.
func keyState(k *admin.APIKey) string {
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

func permissions(k *admin.APIKey) string {
	if slices.Equal(k.Permissions, registry.AllPermissions.Names()) {
		return "*"
	}
	return strings.Join(k.Permissions, ",")
}

func apiKeys(all []admin.APIKey) string {
	if len(all) == 0 {
		return "no keys\n"
	}
	columns := []string{"client id", "state", "signing", "last used", "expires", "created", "addresses", "permissions"}
	return rows(columns, all, func(k *admin.APIKey) table.Row {
		return table.Row{
			k.ClientID, keyState(k), yes(k.Signing), orElse(k.LastUsedAt, "never", moment), orElse(k.ExpiresAt, "never", moment),
			moment(k.CreatedAt), commaList(k.Whitelist), permissions(k),
		}
	})
}

const onceOnly = "\nThe secret is shown this once: keep it now. The engine has its hash alone.\n"

func keyFacts(k *admin.APIKey) string {
	secret, end := leftOut, ""
	if k.ClientSecret != "" {
		secret, end = k.ClientSecret, onceOnly
	}
	addresses := commaList(k.Whitelist)
	if len(k.Whitelist) == 0 {
		addresses += ": it works from nowhere"
	}
	return facts([]fact{
		{"client id", k.ClientID},
		{"client secret", secret},
		{"account", k.AccountID},
		{"state", keyState(k)},
		{"permissions", permissions(k)},
		{"addresses", addresses},
		{"signing", yes(k.Signing)},
		{"expires", orElse(k.ExpiresAt, "never", moment)},
		{"last used", orElse(k.LastUsedAt, "never", moment)},
		{"created", moment(k.CreatedAt)},
	}) + end
}
