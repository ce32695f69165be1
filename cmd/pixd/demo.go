package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"pixd/actors/ledger"
	"pixd/cmd/engine"
	"pixd/httpapi"
)

// demoFunds is the demo account's first balance: 1,000.00 BRL in base units.
const demoFunds = 10_000_000

// demo makes an account with money and prints the tour. It does nothing if there are accounts
// already.
func demo(ctx context.Context, out io.Writer, s *engine.Served, dataDir string) error {
	if ids, _ := s.Registry.Accounts(0, 1); len(ids) > 0 {
		fmt.Fprintf(out, "%s has accounts already: the demo account is made in an empty data folder only (remove it for a new tour)\n", dataDir)
		return nil
	}
	c := &adminClient{base: "http://" + s.AdminAddr.String(), token: s.Token}
	var account struct {
		ID string `json:"account_id"`
	}
	var key struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
	}
	steps := []struct {
		path string
		body any
		into any
	}{
		{"/admin/accounts", map[string]any{"name": "Loja Demo", "document": "12345678909", "city": "RECIFE"}, &account},
		{"/admin/accounts/%s/api-keys", map[string]any{"permissions": []string{"*"}, "ip_whitelist": whitelist(s.MerchantAddr)}, &key},
		{"/admin/accounts/%s/credits", map[string]any{"amount": demoFunds, "type": "ted", "description": "demo funds", "reference": "demo"}, nil},
	}
	for i, step := range steps {
		path := step.path
		if i > 0 {
			path = fmt.Sprintf(path, account.ID)
		}
		if err := c.post(ctx, path, step.body, step.into); err != nil {
			return err
		}
	}
	token, err := filepath.Abs(filepath.Join(dataDir, engine.TokenFile))
	if err != nil {
		return err
	}
	t := tour{
		merchant: "http://" + s.MerchantAddr.String(), operator: c.base, auth: key.ClientID + ":" + key.Secret,
		secret: key.Secret, token: "$(cat '" + token + "')", account: account.ID,
	}
	if s.Config.AdminToken != "" { // the token came with a flag or the environment, so there is no token file
		t.token = "$PIXD_ADMIN_TOKEN"
	}
	t.payment = ledger.EndToEnd(payerISPB, ledger.Millis(time.Now().UnixMilli()), ledger.RandomSuffix(drawn()))
	return t.print(out)
}

// payerISPB is the ISPB of the customer's bank in the simulator.
const payerISPB = "99999003"

func drawn() (entropy [10]byte) {
	_, _ = rand.Read(entropy[:]) // never returns an error
	return entropy
}

// whitelist returns the addresses from which the demo's requests come: this machine's, of the
// IP version on which the merchant API listens.
func whitelist(listener net.Addr) []string {
	if a, ok := listener.(*net.TCPAddr); ok && a.IP.To4() == nil {
		return []string{"127.0.0.1", "::1"}
	}
	return []string{"127.0.0.1"}
}

// program returns the path that runs this binary in a shell.
func program() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "pixd"
}

// tour holds the values that the demo's curl lines contain. payment is the end-to-end id of
// the customer's payment; it is chosen beforehand, so that the request of its refund can be
// signed beforehand too.
type tour struct{ merchant, operator, auth, secret, token, account, payment string }

func (t tour) print(out io.Writer) error {
	charge := `{"amount":2500,"description":"two coffees","external_id":"order-1"}`
	payout := `{"amount":1000,"description":"supplier","pix_key":"supplier@example.com"}`
	refund := `{"amount":500,"description":"one coffee was cold","original_transaction_id":"` + t.payment + `","reason":"MD06"}`
	refused := `{"amount":1000,"pix_key":"not-found@pix.test"}`
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "\nA demo account (%s) holds 1,000.00 BRL. Paste these lines into another terminal, one by one.\n", t.account)
	fmt.Fprintln(b, "Amounts in requests are centavos, in answers base units (1.00 BRL = 10000).")
	say := func(s string) { fmt.Fprintf(b, "\n# %s\n", s) }
	post := func(path, body string) (string, error) {
		h, err := httpapi.Sign([]byte(t.secret), []byte(body), false)
		return fmt.Sprintf("curl -s %s/api/external%s -H 'Authorization: ApiKey %s' -H 'Content-Type: application/json' -H 'hmac: %s' -d '%s'",
			t.merchant, path, t.auth, h, body), err
	}
	get := func(path string) string {
		return fmt.Sprintf("curl -s %s/api/external%s -H 'Authorization: ApiKey %s'; echo", t.merchant, path, t.auth)
	}
	lines := []struct{ path, body string }{{"/pix/cash-in", charge}, {"/pix/cash-out", payout}, {"/pix/refund", refund}, {"/pix/cash-out", refused}}
	signed := make([]string, len(lines))
	for i, l := range lines {
		var err error
		if signed[i], err = post(l.path, l.body); err != nil {
			return err
		}
	}
	say("Charge 25.00 BRL: a QR code for the customer.")
	fmt.Fprintf(b, "CHARGE=$(%s); echo \"$CHARGE\" | cut -c1-400\n", signed[0])
	say("The customer pays it, in the simulator.")
	fmt.Fprintf(b, "curl -s %s/sim/payments -H \"Authorization: Bearer %s\" -H 'Content-Type: application/json' -d \"{\\\"end_to_end_id\\\":\\\"%s\\\",\\\"qr_code\\\":\\\"$(echo \"$CHARGE\" | sed -n 's/.*\"qr_code\":\"\\([^\"]*\\)\".*/\\1/p')\\\"}\"; echo\n", t.operator, t.token, t.payment)
	say("The charge is completed, and the money is there.")
	fmt.Fprintln(b, get("/transactions/$(echo \"$CHARGE\" | sed -n 's/.*\"transaction_id\":\"\\([^\"]*\\)\".*/\\1/p')"))
	fmt.Fprintln(b, get("/balance"))
	say("Pay 10.00 BRL out to a key. It is accepted, and settles a moment later.")
	fmt.Fprintf(b, "PAYOUT=$(%s); echo \"$PAYOUT\"\n", signed[1])
	fmt.Fprintln(b, "sleep 0.4; "+get("/transactions/$(echo \"$PAYOUT\" | sed -n 's/.*\"transaction_id\":\"\\([^\"]*\\)\".*/\\1/p')"))
	say("Refund 5.00 BRL of the customer's payment, named by its end-to-end id. It settles a moment later too.")
	fmt.Fprintf(b, "REFUND=$(%s); echo \"$REFUND\"\n", signed[2])
	fmt.Fprintln(b, "sleep 0.4; "+get("/transactions/$(echo \"$REFUND\" | sed -n 's/.*\"transaction_id\":\"\\([^\"]*\\)\".*/\\1/p')"))
	say("A key that the directory does not know is refused, and nothing is held.")
	fmt.Fprintf(b, "%s; echo\n", signed[3])
	fmt.Fprintln(b, get("/balance"))
	say("The statement has all of it, the newest first.")
	fmt.Fprintln(b, get("/statement"))
	say("Sign a body of your own, then kill the engine (kill -9) and start it again: nothing answered is lost.")
	fmt.Fprintf(b, "printf '{\"amount\":100}' | %s sign --secret-file <(printf %%s '%s')\n\n", program(), t.secret)
	_, err := out.Write(b.Bytes())
	return err
}
