package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/operator"
	"pixd/httpapi/admin"
)

func pixKeyCommand() *cobra.Command {
	f := &adminFlags{}
	return group("pix-key", "Make, show and remove accounts' PIX keys", "  pixd pix-key list --account acc_7oi7njakvirg4", f,
		pixKeyCreate.command(f), pixKeyList.command(f), pixKeyRemove(f))
}

var pixKeyCreate = request{
	use:   "create --account ID [--key KEY] [--type TYPE]",
	short: "Give an account a PIX key",
	long: "Gives an account a PIX key, and shows it. Without --key it gets a random one (evp). Without --type the\n" +
		"type is told from the key; eleven digits may be a CPF or a phone, and need it. A key belongs to one\n" +
		"account; to give it the same key again changes nothing. It is registered once the scheme took it, and\n" +
		"pending until then; payments to it arrive once it is registered.",
	example: "  pixd pix-key create --account acc_7oi7njakvirg4\n" +
		"  pixd pix-key create --account acc_7oi7njakvirg4 --key 11987654321 --type phone",
	method: http.MethodPost, ofAccount: true, path: "pix-keys", print: printPixKey, check: detectType,
	fields: []field{
		{flag: "key", member: "key", kind: "", help: "the `KEY` (default a random one)"},
		{flag: "type", member: "key_type", kind: "", help: "its `TYPE`: cpf, cnpj, email, phone or evp (default told from the key)"},
	},
}

// detectType adds the type that the key itself shows to a request without --type.
func detectType(_ *cobra.Command, body map[string]any) error {
	if body["key_type"] != nil {
		return nil
	}
	key, given := body["key"].(string)
	if !given {
		body["key_type"] = pix.KeyEVP.String()
		return nil
	}
	if pix.AmbiguousKey(key) {
		return errors.New("--key may be a CPF or a phone: give --type cpf or --type phone")
	}
	k, ok := pix.DetectKey(key)
	if !ok {
		return fmt.Errorf("--key %q fits no type of key: cpf, cnpj, email, phone or evp", key)
	}
	body["key_type"] = k.Type.String()
	return nil
}

var pixKeyList = listing[admin.PixKey]{
	use:   "list --account ID",
	short: "List an account's PIX keys, the oldest first",
	long: "Lists an account's PIX keys, the oldest first: that one stands in the account's QR codes. A key is\n" +
		"registered once the scheme took it, and pending until then.",
	example: "  pixd pix-key list --account acc_7oi7njakvirg4",
	path:    "pix-keys", ofAccount: true, show: pixKeys,
}

func pixKeyRemove(f *adminFlags) *cobra.Command {
	var of accountFlag
	var key string
	c := &cobra.Command{
		Use:   "remove --account ID --key KEY",
		Short: "Take a PIX key from an account",
		Long: "Takes a PIX key from an account, and shows it. The scheme is told, now or as soon as it answers. Any\n" +
			"account may have the key from then on. A payment that comes to it while nobody has it is given back,\n" +
			"also where an open charge has it in its QR code. An account keeps its last key. Eleven digits are a\n" +
			"CPF here; write a phone with +55." + adminHelp,
		Example: "  pixd pix-key remove --account acc_7oi7njakvirg4 --key +5511987654321",
		Args:    exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := of.path("pix-keys")
			if err != nil {
				return err
			}
			name, err := operator.Segment(key)
			if err != nil {
				return fmt.Errorf("--key: %w", err)
			}
			got, err := f.ask(c, http.MethodDelete, path+"/"+name, nil)
			if err != nil {
				return err
			}
			return printPixKey(c, f, got)
		},
	}
	of.add(c)
	c.Flags().StringVar(&key, "key", "", "the `KEY` to take from it")
	requireFlags(c, "key")
	return c
}

var printPixKey = printing("something else", pixKeyFacts)

func pixKeyFacts(k *admin.PixKey) string {
	return facts([]fact{
		{"pix key", k.Key},
		{"type", k.KeyType},
		{"account", k.AccountID},
		{"status", k.Status},
		{"created", moment(k.CreatedAt)},
	})
}

func pixKeys(all []admin.PixKey) string {
	if len(all) == 0 {
		return "no PIX keys\n"
	}
	return rows([]string{"pix key", "type", "status", "created"}, all, func(k *admin.PixKey) table.Row {
		return table.Row{k.Key, k.KeyType, k.Status, moment(k.CreatedAt)}
	})
}
