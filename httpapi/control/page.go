package control

import (
	"strconv"

	"github.com/valyala/fasthttp"
)

const (
	defaultLimit = 50
	maxLimit     = 200
)

// Page is the position at which a page of a list begins, and the largest number of entries on
// the page.
type Page struct{ From, Limit int }

// List is a page of a list as it is sent to the client.
type List struct {
	Data    []any   `json:"data"`
	Next    *string `json:"next_cursor"`
	Damaged int     `json:"damaged,omitempty"` // entries that are left out because their records are damaged
}

// ReadPage reads cursor and limit from the query.
func ReadPage(ctx *fasthttp.RequestCtx) (Page, error) {
	var p Page
	var err error
	if p.Limit, err = ReadLimit(ctx); err != nil {
		return p, err
	}
	if cursor := string(ctx.QueryArgs().Peek("cursor")); cursor != "" {
		n, err := strconv.ParseUint(cursor, 10, 31)
		if err != nil {
			return p, Bad("cursor must be a next_cursor of this list")
		}
		p.From = int(n)
	}
	return p, nil
}

// ReadLimit reads from the query the largest number of entries on a page.
func ReadLimit(ctx *fasthttp.RequestCtx) (int, error) {
	q := ctx.QueryArgs()
	if !q.Has("limit") {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(string(q.Peek("limit")))
	if err != nil || n < 1 || n > maxLimit {
		return 0, Bad("limit must be an integer from 1 to %d", maxLimit)
	}
	return n, nil
}

// Of returns this page of a list of n entries; entry returns the list's i-th entry.
func (p Page) Of(n int, entry func(i int) (any, error)) (List, error) {
	from := min(p.From, n)
	to := min(from+p.Limit, n)
	l := List{Data: make([]any, 0, to-from)}
	for i := from; i < to; i++ {
		v, err := entry(i)
		if err != nil {
			return l, err
		}
		l.Data = append(l.Data, v)
	}
	if to < n {
		l.Next = At(to)
	}
	return l, nil
}

// At returns the cursor of the page that begins at position place.
func At(place int) *string {
	s := strconv.Itoa(place)
	return &s
}
