package admin

import (
	"errors"
	"net/url"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/strictjson"
	"pixd/httpapi/control"
)

// PixKey is a PIX key as the operator API shows it.
type PixKey struct {
	Key       string `json:"key"`
	KeyType   string `json:"key_type"`
	AccountID string `json:"account_id"`
	Status    string `json:"status"`
	CreatedAt string `json:"created_at"`
}

// The statuses of a PIX key: pending until the scheme has taken it, then registered; removed
// in the answer to its removal.
const (
	keyPending    = "pending"
	keyRegistered = "registered"
	keyRemoved    = "removed"
)

func keyStatus(registered bool) string {
	if registered {
		return keyRegistered
	}
	return keyPending
}

func shownPixKey(k *registry.PixKey, status string) PixKey {
	return PixKey{k.Key, k.Type.String(), k.Account.String(), status, k.CreatedAt.String()}
}

// listPixKeys lists an account's keys in the order in which they were made; the first key is
// the one in the account's QR codes.
func (s *service) listPixKeys(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	p, err := control.ReadPage(ctx)
	if err != nil {
		return 0, nil, err
	}
	keys := keysOf(a, s.Registry.PixKey)
	l, err := p.Of(len(keys), func(i int) (any, error) { return shownPixKey(keys[i], keyStatus(keys[i].Registered)), nil })
	return fasthttp.StatusOK, l, err
}

// keysOf returns an account's keys, without those that were removed since the account was read:
// another account may have such a key by now.
func keysOf(a *registry.Account, find func(key string) (*registry.PixKey, bool)) (keys []*registry.PixKey) {
	for _, name := range a.PixKeys {
		if k, ok := find(name); ok && k.Account == a.ID {
			keys = append(keys, k)
		}
	}
	return keys
}

// createPixKey reserves a PIX key for an account. It succeeds once the reservation is
// durable. If the scheme cannot be reached now, the key is registered with it later.
func (s *service) createPixKey(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	key, err := s.readPixKey(control.Read(ctx.PostBody(), "key", "key_type"))
	if err != nil {
		return 0, nil, err
	}
	k, err := s.Registry.ReservePixKey(a.ID, key)
	if errors.Is(err, registry.ErrKeyTaken) {
		return 0, nil, control.Refuse(fasthttp.StatusConflict, "key %q belongs to another account", key.Value)
	}
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusCreated, shownPixKey(k, keyStatus(k.Registered || s.TellScheme(key.Value))), nil
}

// removePixKey takes a PIX key from an account. It succeeds once the removal is durable. If
// the scheme cannot be reached now, it is told later.
func (s *service) removePixKey(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	raw, _ := ctx.UserValue("key").(string)
	name, err := url.PathUnescape(raw)
	if err != nil {
		return 0, nil, control.Missing("no such path")
	}
	if k, ok := pix.DetectKey(name); ok {
		name = k.Value // as the directory spells it
	}
	k, err := s.Registry.RemovePixKey(a.ID, name)
	switch {
	case errors.Is(err, registry.ErrNoKey):
		return 0, nil, control.Missing("account %v has no PIX key %q", a.ID, name)
	case errors.Is(err, registry.ErrLastKey):
		return 0, nil, control.Refuse(fasthttp.StatusConflict, "key %q is the account's last one", name)
	case err != nil:
		return 0, nil, err
	}
	s.TellScheme(k.Key)
	return fasthttp.StatusOK, shownPixKey(k, keyRemoved), nil
}

func (s *service) readPixKey(f strictjson.Form) (key pix.Key, err error) {
	var text, typeName string
	given, typed := f.Text("key", &text), f.Text("key_type", &typeName)
	t, ok := pix.ParseKeyType(typeName)
	if !typed || !ok {
		f.Need("key_type")
		f.Refuse("key_type", "cpf, cnpj, email, phone or evp")
	}
	if !given {
		if t != pix.KeyEVP {
			f.Need("key")
		}
		text = s.NewEVP()
	}
	if key, ok = pix.ParseKey(t, text); !ok {
		f.Refuse("key", "a key of the type "+typeName)
	}
	return key, f.Fault()
}
