package admin

import (
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/strictjson"
	"pixd/httpapi/control"
)

type pixKey struct {
	Key       string `json:"key"`
	KeyType   string `json:"key_type"`
	AccountID string `json:"account_id"`
	Status    string `json:"status"`
	CreatedAt string `json:"created_at"`
}

// shownPixKey returns a PIX key as the operator API shows it: its status is pending until the
// scheme has taken the key, and then registered.
func shownPixKey(k *registry.PixKey, registered bool) pixKey {
	status := "pending"
	if registered {
		status = "registered"
	}
	return pixKey{k.Key, k.Type.String(), k.Account.String(), status, k.CreatedAt.String()}
}

// listPixKeys lists an account's keys in the order in which they were made; the first key is
// the one in the account's QR codes.
func (s *service) listPixKeys(ctx *fasthttp.RequestCtx) (int, any, error) {
	a, err := s.account(ctx)
	if err != nil {
		return 0, nil, err
	}
	p, err := control.ReadPage(ctx)
	if err != nil {
		return 0, nil, err
	}
	l, err := p.Of(len(a.PixKeys), func(i int) (any, error) {
		k, ok := s.Registry.PixKey(a.PixKeys[i])
		if !ok {
			return nil, fmt.Errorf("account %v: the registry does not have its PIX key %q", a.ID, a.PixKeys[i])
		}
		return shownPixKey(k, k.Registered), nil
	})
	return fasthttp.StatusOK, l, err
}

// createPixKey reserves a PIX key for an account. It succeeds once the reservation is
// durable. If the scheme cannot be reached now, the key is registered with it later.
func (s *service) createPixKey(ctx *fasthttp.RequestCtx) (int, any, error) {
	a, err := s.account(ctx)
	if err != nil {
		return 0, nil, err
	}
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
	return fasthttp.StatusCreated, shownPixKey(k, k.Registered || s.RegisterKey(a.ID, key)), nil
}

func (s *service) readPixKey(f strictjson.Form) (key ledger.Key, err error) {
	var text, typeName string
	given, typed := f.Text("key", &text), f.Text("key_type", &typeName)
	t, ok := ledger.ParseKeyType(typeName)
	if !typed || !ok {
		f.Need("key_type")
		f.Refuse("key_type", "cpf, cnpj, email, phone or evp")
	}
	if !given {
		if t != ledger.KeyEVP {
			f.Need("key")
		}
		text = s.NewEVP()
	}
	if key, ok = ledger.ParseKey(t, text); !ok {
		f.Refuse("key", "a key of the type "+typeName)
	}
	return key, f.Fault()
}
