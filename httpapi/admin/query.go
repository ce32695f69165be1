package admin

import (
	"encoding/hex"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// accountAsked returns the account that the query's account_id names; 0: it names none.
func (s *service) accountAsked(ctx *fasthttp.RequestCtx) (pix.AccountID, error) {
	name := string(ctx.QueryArgs().Peek("account_id"))
	if name == "" {
		return 0, nil
	}
	if id, ok := pix.ParseAccountID(name); ok {
		if _, ok := s.Registry.Account(id); ok {
			return id, nil
		}
	}
	return 0, control.Missing("no account %q", name)
}

// readCursor returns the key from which a list goes on; nil: it begins. is tells whether a key is
// one of the list's.
func readCursor(ctx *fasthttp.RequestCtx, is func(key []byte) bool) ([]byte, error) {
	after, err := hex.DecodeString(string(ctx.QueryArgs().Peek("cursor")))
	if err != nil || len(after) != 0 && !is(after) {
		return nil, control.Bad("cursor must be a next_cursor of this list")
	}
	return after, nil
}
