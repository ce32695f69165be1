package admin

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/strictjson"
	"pixd/httpapi/control"
)

// APIKey is a credential as the operator API shows it. The secret is shown only once, in the
// answer that makes the key.
type APIKey struct {
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret,omitempty"`
	AccountID    string   `json:"account_id"`
	Permissions  []string `json:"permissions"`
	Whitelist    []string `json:"ip_whitelist"`
	ExpiresAt    *string  `json:"expires_at"`
	Signing      bool     `json:"signing"`
	Active       bool     `json:"active"`
	CreatedAt    string   `json:"created_at"`
	LastUsedAt   *string  `json:"last_used_at"`
	Warnings     []string `json:"warnings"`
}

func shownKey(k *registry.APIKey, secret string) APIKey {
	return APIKey{
		ClientID: k.ClientID, ClientSecret: secret, AccountID: k.Account.String(),
		Permissions: k.Permissions.Names(), Whitelist: append([]string{}, k.Whitelist...),
		ExpiresAt: instant(k.ExpiresAt), Signing: k.Signing, Active: k.Active,
		CreatedAt: k.CreatedAt.String(), LastUsedAt: instant(k.LastUsed()), Warnings: k.Warnings(),
	}
}

func instant(m pix.Millis) *string {
	if m == 0 {
		return nil
	}
	return new(m.String())
}

const (
	clientIDBytes = 16
	secretBytes   = 32
)

var lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func (s *service) createAPIKey(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	f := control.Read(ctx.PostBody(), "permissions", "ip_whitelist", "expires_at", "signing")
	f.Need("permissions")
	k := registry.APIKey{Account: a.ID, Signing: true}
	f.Flag("signing", &k.Signing)
	keyFields(f, &k)
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	secret := "sk_" + base64.RawURLEncoding.EncodeToString(s.NewSecret(secretBytes))
	k.ClientID = "cli_" + lower32.EncodeToString(s.NewSecret(clientIDBytes))
	k.SecretHash = sha256.Sum256([]byte(secret))
	made, err := s.Registry.MakeAPIKey(k)
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusCreated, shownKey(made, secret), nil
}

// keyFields reads the fields that an operator may set when a key is made or changed.
func keyFields(f strictjson.Form, k *registry.APIKey) {
	var names []string
	if f.Texts("permissions", &names) {
		p, unknown, ok := registry.ParsePermissions(names)
		switch {
		case !ok:
			f.Fail(control.Bad("permissions: unknown permission %q", unknown))
		case p == 0:
			f.Refuse("permissions", `a list with at least one permission, or ["*"]`)
		}
		k.Permissions = p
	}
	f.Texts("ip_whitelist", &k.Whitelist)
	var expires time.Time
	if f.Null("expires_at") {
		k.ExpiresAt = 0
	} else if f.Instant("expires_at", &expires) {
		k.ExpiresAt = max(pix.Millis(expires.UnixMilli()), 1) // 0 would mean that the key never expires
	}
}

func (s *service) listAPIKeys(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	p, err := control.ReadPage(ctx)
	if err != nil {
		return 0, nil, err
	}
	l, err := p.Of(len(a.APIKeys), func(i int) (any, error) {
		k, ok := s.Registry.APIKey(a.APIKeys[i])
		if !ok {
			return nil, registry.ErrUnknownKey
		}
		return shownKey(k, ""), nil
	})
	return fasthttp.StatusOK, l, err
}

func (s *service) changeAPIKey(ctx *fasthttp.RequestCtx, id string) (int, any, error) {
	f := control.Read(ctx.PostBody(), "permissions", "ip_whitelist", "expires_at")
	keyFields(f, new(registry.APIKey))
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	return s.editAPIKey(id, func(k *registry.APIKey) { keyFields(f, k) })
}

func (s *service) revokeAPIKey(_ *fasthttp.RequestCtx, id string) (int, any, error) {
	return s.editAPIKey(id, func(k *registry.APIKey) { k.Active = false })
}

// apiKey returns the client id that the path names.
func (s *service) apiKey(ctx *fasthttp.RequestCtx) (string, error) {
	id, _ := ctx.UserValue("client_id").(string)
	if k, ok := s.Registry.APIKey(id); ok {
		return k.ClientID, nil
	}
	return "", control.Missing("no API key %q", id)
}

func (s *service) editAPIKey(id string, edit func(*registry.APIKey)) (int, any, error) {
	k, err := s.Registry.ChangeAPIKey(id, edit)
	if errors.Is(err, registry.ErrUnknownKey) {
		return 0, nil, control.Missing("no API key %q", id)
	}
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusOK, shownKey(k, ""), nil
}
