package admin

import (
	"errors"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/httpapi/operator"
)

type pixKey struct {
	Key       string `json:"key"`
	KeyType   string `json:"key_type"`
	AccountID string `json:"account_id"`
	Status    string `json:"status"`
	CreatedAt string `json:"created_at"`
}

// createPixKey is done with the durable claim; a scheme that cannot be told now
// is told later.
func (s *service) createPixKey(ctx *fasthttp.RequestCtx) (int, any, error) {
	a, err := s.account(ctx)
	if err != nil {
		return 0, nil, err
	}
	key, err := s.readPixKey(operator.Read(ctx.PostBody(), "key", "key_type"))
	if err != nil {
		return 0, nil, err
	}
	k, err := s.Registry.ClaimPixKey(a.ID, key)
	if errors.Is(err, registry.ErrKeyTaken) {
		return 0, nil, operator.Refuse(fasthttp.StatusConflict, "key %q belongs to another account", key.Value)
	}
	if err != nil {
		return 0, nil, err
	}
	status := "pending"
	if k.Registered || s.RegisterKey(a.ID, key) {
		status = "registered"
	}
	return fasthttp.StatusCreated, pixKey{k.Key, k.Type.String(), a.ID.String(), status, k.CreatedAt.String()}, nil
}

func (s *service) readPixKey(f operator.Form) (key ledger.Key, err error) {
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
