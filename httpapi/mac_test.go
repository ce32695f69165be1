package httpapi

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
)

// signedWith is a cash-out with the credentials of client, signed with another secret.
func signedWith(client, secret, signing string) sent {
	mac, err := Sign([]byte(signing), []byte(payBody), false)
	if err != nil {
		panic(err)
	}
	return sent{path: cashOut, body: payBody, headers: []string{"Authorization", "ApiKey " + client + ":" + secret, "hmac", mac}}
}

const (
	newSecret    = "sk_another"
	mismatchBody = `{"worked":false,"detail":"Invalid HMAC signature"}`
)

// TestChangedSecretSigns checks that a key's signatures are those of the secret that it has
// now, and that a revoked key's and a silenced key's are refused.
func TestChangedSecretSigns(t *testing.T) {
	f := newFixture(t)
	tx := payout(pix.StatusAccepted)
	f.engine.answer = ledger.Answer{Tx: &tx}
	change := func(edit func(*registry.APIKey)) {
		if _, err := f.keys.ChangeAPIKey("cli_all", edit); err != nil {
			t.Fatal(err)
		}
	}
	f.expect(signedWith("cli_all", testSecret, newSecret), 401, mismatchBody)
	f.expect(signedWith("cli_all", testSecret, testSecret), 202, "…")
	change(func(k *registry.APIKey) { k.SecretHash = sha256.Sum256([]byte(newSecret)) })
	f.expect(signedWith("cli_all", testSecret, testSecret), 401, "…")
	f.expect(signedWith("cli_all", newSecret, testSecret), 401, mismatchBody)
	f.expect(signedWith("cli_all", newSecret, newSecret), 202, "…")
	change(func(k *registry.APIKey) { k.Signing = false })
	f.expect(signedWith("cli_all", newSecret, newSecret), 403, "…")
	change(func(k *registry.APIKey) { k.Signing, k.Active = true, false })
	f.expect(signedWith("cli_all", newSecret, newSecret), 401, "…")
}

// TestSecretsOfTwoKeys sends requests with two keys at once, while one of them changes again
// and again; each key's signatures are those of its own secret.
func TestSecretsOfTwoKeys(t *testing.T) {
	f := newFixture(t)
	if _, err := f.keys.ChangeAPIKey("cli_lasting", func(k *registry.APIKey) { k.SecretHash = sha256.Sum256([]byte(newSecret)) }); err != nil {
		t.Fatal(err)
	}
	o := f.options()
	o.RateLimit = 1 << 30
	s := &service{Options: o, requests: NewLimiter(1 << 30), failures: NewLimiter(1)}
	try := func(client, secret, signing string, want bool) {
		ctx := requested("POST", cashOut, payBody)
		q := signedWith(client, secret, signing)
		ctx.Request.Header.Set(fasthttp.HeaderAuthorization, q.headers[1])
		ctx.Request.Header.Set("hmac", q.headers[3])
		c := call{service: s, route: &routes[1], ctx: ctx, left: -1}
		defer c.release()
		if got := c.credentials() && c.origin() && c.signature(); got != want {
			t.Errorf("%s, signed with %s: %v", client, signing, got)
		}
	}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 50 {
				try("cli_all", testSecret, testSecret, true)
				try("cli_lasting", newSecret, newSecret, true)
				try("cli_all", testSecret, newSecret, false)
				try("cli_lasting", newSecret, testSecret, false)
			}
		})
	}
	work.Go(func() {
		for i := range 50 {
			if _, err := f.keys.ChangeAPIKey("cli_all", func(k *registry.APIKey) { k.Whitelist = []string{"127.0.0.1", fmt.Sprintf("10.0.0.%d", i)} }); err != nil {
				t.Error(err)
			}
		}
	})
	work.Wait()
}
