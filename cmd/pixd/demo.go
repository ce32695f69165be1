package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/operator"
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
	c := &operator.Client{Base: "http://" + s.AdminAddr.String(), Token: s.Token}
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
		if err := c.Post(ctx, path, step.body, step.into); err != nil {
			return err
		}
	}
	token, err := filepath.Abs(filepath.Join(dataDir, engine.TokenFile))
	if err != nil {
		return err
	}
	t := &tour{
		merchant: "http://" + s.MerchantAddr.String(), operator: c.Base, auth: key.ClientID + ":" + key.Secret,
		secret: key.Secret, token: "$(cat '" + token + "')", account: account.ID,
	}
	if s.Config.AdminToken != "" { // the token came from the environment, so there is no token file
		t.token = "$PIXD_ADMIN_TOKEN"
	}
	t.payment = pix.EndToEnd(payerISPB, pix.Millis(time.Now().UnixMilli()), pix.RandomSuffix(drawn()))
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
type tour struct {
	merchant, operator, auth, secret, token, account, payment string

	b   bytes.Buffer
	err error // of the first request that could not be signed
}

func (t *tour) print(out io.Writer) error {
	fmt.Fprintf(&t.b, "\nA demo account (%s) holds 1,000.00 BRL. Paste these lines into another terminal, one by one.\n", t.account)
	fmt.Fprintln(&t.b, "Amounts in requests are centavos, in answers base units (1.00 BRL = 10000).")
	t.listen()
	t.charge()
	t.pay()
	t.look()
	if t.err != nil {
		return t.err
	}
	_, err := out.Write(t.b.Bytes())
	return err
}

func (t *tour) say(s string) { fmt.Fprintf(&t.b, "\n# %s\n", s) }

// post returns the command line of a signed request.
func (t *tour) post(path, body string) string {
	h, err := httpapi.Sign([]byte(t.secret), []byte(body), false)
	t.err = errors.Join(t.err, err)
	return fmt.Sprintf("curl -s %s/api/external%s -H 'Authorization: ApiKey %s' -H 'Content-Type: application/json' -H 'hmac: %s' -d '%s'",
		t.merchant, path, t.auth, h, body)
}

func (t *tour) get(path string) {
	fmt.Fprintf(&t.b, "curl -s %s/api/external%s -H 'Authorization: ApiKey %s'; echo\n", t.merchant, path, t.auth)
}

// member returns the shell's words for a member of an answer that is in a variable.
func member(variable, name string) string {
	return fmt.Sprintf(`$(echo "$%s" | sed -n 's/.*"%s":"\([^"]*\)".*/\1/p')`, variable, name)
}

// listen subscribes to webhooks and receives them.
func (t *tour) listen() {
	t.say("Subscribe to webhooks, and receive them in this terminal: each is printed, and its signature verified.")
	hook := t.post("/webhooks", `{"events":["pix.charge.paid","pix.payout.confirmed","pix.refund.completed"],"url":"http://`+listenAddress+`/"}`)
	fmt.Fprintf(&t.b, "HOOK=$(%s); echo \"$HOOK\"\n", hook)
	fmt.Fprintf(&t.b, "%s listen --secret \"%s\" & LISTENER=$!; sleep 0.3\n", program(), member("HOOK", "secret"))
}

// charge lets a customer pay.
func (t *tour) charge() {
	t.say("Charge 25.00 BRL: a QR code for the customer.")
	fmt.Fprintf(&t.b, "CHARGE=$(%s); echo \"$CHARGE\" | cut -c1-400\n", t.post("/pix/cash-in", `{"amount":2500,"description":"two coffees","external_id":"order-1"}`))
	t.say("The customer pays it, in the simulator.")
	fmt.Fprintf(&t.b, "curl -s %s/sim/payments -H \"Authorization: Bearer %s\" -H 'Content-Type: application/json' -d \"{\\\"end_to_end_id\\\":\\\"%s\\\",\\\"qr_code\\\":\\\"%s\\\"}\"; echo\n",
		t.operator, t.token, t.payment, member("CHARGE", "qr_code"))
	t.say("The charge is completed, and the money is there.")
	t.get("/transactions/" + member("CHARGE", "transaction_id"))
	t.get("/balance")
}

// pay sends money: a payout, a refund, and a payout that is refused.
func (t *tour) pay() {
	t.say("Pay 10.00 BRL out to a key. It is accepted, and settles a moment later.")
	fmt.Fprintf(&t.b, "PAYOUT=$(%s); echo \"$PAYOUT\"\nsleep 0.4; ", t.post("/pix/cash-out", `{"amount":1000,"description":"supplier","pix_key":"supplier@example.com"}`))
	t.get("/transactions/" + member("PAYOUT", "transaction_id"))
	t.say("Refund 5.00 BRL of the customer's payment, named by its end-to-end id. It settles a moment later too.")
	fmt.Fprintf(&t.b, "REFUND=$(%s); echo \"$REFUND\"\nsleep 0.4; ", t.post("/pix/refund", `{"amount":500,"description":"one coffee was cold","original_transaction_id":"`+t.payment+`","reason":"MD06"}`))
	t.get("/transactions/" + member("REFUND", "transaction_id"))
	t.say("A key that the directory does not know is refused, and nothing is held.")
	fmt.Fprintf(&t.b, "%s; echo\n", t.post("/pix/cash-out", `{"amount":1000,"pix_key":"not-found@pix.test"}`))
	t.get("/balance")
}

// look reads the statement, and ends the tour.
func (t *tour) look() {
	t.say("The statement has all of it, the newest first. Stop listening.")
	t.get("/statement")
	fmt.Fprintln(&t.b, "kill $LISTENER")
	t.say("Sign a body of your own, then kill the engine (kill -9) and start it again: nothing answered is lost.")
	fmt.Fprintf(&t.b, "printf '{\"amount\":100}' | %s sign --secret-file <(printf %%s '%s')\n\n", program(), t.secret)
}
