package control

import (
	"strconv"

	"github.com/valyala/fasthttp"
)

const (
	defaultLimit = 50
	maxLimit     = 200
)

// Page is where a list goes on, and how far.
type Page struct{ From, Limit int }

// List is a page of a list as it is sent.
type List struct {
	Data []any   `json:"data"`
	Next *string `json:"next_cursor"`
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

// ReadLimit reads how long a page may be.
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

// Of is this page of a list of n, whose entries entry makes.
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

// At is the cursor that goes on from a place.
func At(place int) *string {
	s := strconv.Itoa(place)
	return &s
}
