package main

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/operator"
	"pixd/cmd/serving"
	"pixd/httpapi"
)

// demoFunds is the demo account's first balance: 1,000.00 BRL in base units.
const demoFunds = 10_000_000

// demo makes an account with money and prints the tour. In a folder that has the account it makes a new
// key of it, because nobody knows the secrets of the earlier ones, and prints the tour again; where there are
// other accounts alone it does nothing.
func demo(ctx context.Context, out io.Writer, s *engine.Served, dataDir string) error {
	d := &demonstration{
		operator: &operator.Client{Base: "http://" + s.AdminAddr.String(), Token: s.Token}, merchant: "http://" + s.MerchantAddr.String(), out: out,
	}
	id, some := demoAccount(s.Registry)
	if some && id == 0 {
		fmt.Fprintf(out, "%s has accounts already, and no demo account: it is made in an empty data folder only (remove it for a tour)\n", dataDir)
		return nil
	}
	if a, there := s.Registry.Account(id); there && !a.Active {
		fmt.Fprintf(out, "the demo account %s is not active (pixd account set %s --active): there is no tour\n", id, id)
		return nil
	}
	if err := d.account(ctx, id, whitelist(s.MerchantAddr)); err != nil {
		return err
	}
	token, err := filepath.Abs(filepath.Join(dataDir, serving.TokenFile))
	if err != nil {
		return err
	}
	t := &tour{
		Merchant: d.merchant, Operator: d.operator.Base, Auth: d.key.ClientID + ":" + d.key.ClientSecret,
		Client: d.key.ClientID, Secret: d.key.ClientSecret, Token: "$(cat '" + token + "')", Account: d.id, Program: program(), Listen: listenAddress,
		Supplier: "supplier@example.com",
	}
	if n := len(d.earlier); n > 0 { // the same payment as in an earlier tour would be a repeat of it
		t.Again = true
		t.Supplier = fmt.Sprintf("supplier+%d@example.com", n+1)
	}
	t.Reveal = "cat '" + token + "'"
	if s.Config.AdminToken != "" { // the token came from the environment, so there is no token file
		t.Token, t.Reveal = "$PIXD_ADMIN_TOKEN", "that of PIXD_ADMIN_TOKEN"
	}
	t.Payment = pix.EndToEnd(payerISPB, pix.Millis(time.Now().UnixMilli()), pix.RandomSuffix(drawn()))
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

// tour holds the values that the demo's curl lines contain. Payment is the end-to-end id of
// the customer's payment; it is chosen beforehand, so that the request of its refund can be
// signed beforehand too.
type tour struct {
	Merchant, Operator, Auth, Client, Secret, Token, Account, Payment string
	Program, Listen, Supplier                                         string
	Reveal                                                            string // says what the operators' token is
	Again                                                             bool   // the account has had a tour before
}

//go:embed tour.txt
var tourText string

func (t *tour) print(out io.Writer) error {
	text, err := template.New("tour").Funcs(template.FuncMap{"post": t.post, "get": t.get, "member": member}).Parse(tourText)
	if err != nil {
		panic(err) // the text is our own
	}
	var b bytes.Buffer
	if err := text.Execute(&b, t); err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

// post returns the command line of a signed request.
func (t *tour) post(path, body string) (string, error) {
	h, err := httpapi.Sign([]byte(t.Secret), []byte(body), false)
	return fmt.Sprintf("curl -s %s/api/external%s -H 'Authorization: ApiKey %s' -H 'Content-Type: application/json' -H 'hmac: %s' -d '%s'",
		t.Merchant, path, t.Auth, h, body), err
}

func (t *tour) get(path string) string {
	return fmt.Sprintf("curl -s %s/api/external%s -H 'Authorization: ApiKey %s'; echo", t.Merchant, path, t.Auth)
}

// member returns the shell's words for a member of an answer that is in a variable.
func member(variable, name string) string {
	return fmt.Sprintf(`$(echo "$%s" | sed -n 's/.*"%s":"\([^"]*\)".*/\1/p')`, variable, name)
}
