package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pixd/httpapi"
)

func signCommand() *cobra.Command {
	var file string
	var camel bool
	c := &cobra.Command{
		Use:   "sign --secret-file F [--camel] < body.json",
		Short: "Print the hmac header value for a request body",
		Long: "Reads a JSON body from standard input and prints the value of the hmac header for it:\n" +
			"HMAC-SHA512 under the client secret, in lower-case hexadecimal. Without --camel it signs the\n" +
			"canonical form (keys sorted, no white space), which the engine accepts however the body is laid\n" +
			"out; with --camel it signs the body exactly as it stands, trailing newline included.",
		Example: `  printf '{"amount":1000}' | pixd sign --secret-file secret.txt`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			secret, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("secret file: %w", err)
			}
			if secret = bytes.TrimSpace(secret); len(secret) == 0 {
				return errors.New("secret file: " + file + " is empty")
			}
			body, err := io.ReadAll(c.InOrStdin())
			if err != nil {
				return fmt.Errorf("body: %w", err)
			}
			header, err := httpapi.Sign(secret, body, camel)
			if err != nil {
				return fmt.Errorf("body: %w", err)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), header)
			return err
		},
	}
	c.Flags().StringVar(&file, "secret-file", "", "`FILE` that holds the client secret (sk_…)")
	c.Flags().BoolVar(&camel, "camel", false, "the request carries X-Key-Case: camelCase")
	requireFlags(c, "secret-file")
	return c
}
