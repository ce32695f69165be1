package admin

import (
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"

	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// accountAsked returns the account that the query's account_id names; 0: it names none.
func (s *service) accountAsked(ctx *fasthttp.RequestCtx) (pix.AccountID, error) {
	name := string(ctx.QueryArgs().Peek("account_id"))
	if name == "" {
		return 0, nil
	}
	a, err := s.accountNamed(name)
	if err != nil {
		return 0, err
	}
	return a.ID, nil
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

// readPageNumber returns the number of the page that the cursor of a list of an account stands for.
func readPageNumber(ctx *fasthttp.RequestCtx) (int, error) {
	cursor := string(ctx.QueryArgs().Peek("cursor"))
	if cursor == "" {
		return 1, nil
	}
	page, err := strconv.ParseUint(cursor, 10, 31)
	if err != nil || page < 2 {
		return 0, control.Bad("cursor must be a next_cursor of this list")
	}
	return int(page), nil
}

// pageAfter returns the cursor behind a page of n entries; null where that was the last one.
func pageAfter(page, n, limit int) *string {
	if n < limit {
		return nil
	}
	return control.At(page + 1)
}

// tooLong makes a Problem of an error that says that a list takes too long to read.
func tooLong(err error) error {
	if errors.Is(err, layout.ErrTooLong) {
		return errors.Join(control.Refuse(fasthttp.StatusServiceUnavailable, "%v: ask for fewer", layout.ErrTooLong), err)
	}
	return err
}

// listBehind answers a request for a page of a list. read reads the page, and show returns an entry as it is sent.
func listBehind[T, V any](read func() (layout.Listed[T], error), show func(T) (V, error)) (int, any, error) {
	page, err := read()
	if err != nil {
		return 0, nil, err
	}
	l := control.List{Data: make([]any, 0, len(page.Entries)), Next: orNull(hex.EncodeToString(page.Next)), Damaged: page.Damaged}
	for _, entry := range page.Entries {
		shown, err := show(entry)
		switch {
		case errors.Is(err, layout.ErrDamaged):
			l.Damaged++
		case err != nil:
			return 0, nil, err
		default:
			l.Data = append(l.Data, shown)
		}
	}
	return fasthttp.StatusOK, l, nil
}

// handler answers a request with a status and a value, or returns an error.
type handler = func(*fasthttp.RequestCtx) (int, any, error)

// about returns the handler of requests about something that the path names, such as an account:
// find finds it, and serve answers.
func about[T any](find func(*fasthttp.RequestCtx) (T, error), serve func(*fasthttp.RequestCtx, T) (int, any, error)) handler {
	return func(ctx *fasthttp.RequestCtx) (int, any, error) {
		it, err := find(ctx)
		if err != nil {
			return 0, nil, err
		}
		return serve(ctx, it)
	}
}

// readPath returns a part of the path. If it cannot be decoded, the error has the text missing,
// whose verb shows that part.
func readPath(ctx *fasthttp.RequestCtx, part, missing string) (string, error) {
	raw, _ := ctx.UserValue(part).(string)
	text, err := url.PathUnescape(raw)
	if err != nil {
		return "", control.Missing(missing, raw)
	}
	return text, nil
}
