package httpapi

import (
	"errors"
	"net/url"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"
)

// PathText returns a part of the path, decoded; empty where it cannot be decoded.
func PathText(ctx *fasthttp.RequestCtx, part string) string {
	raw, _ := ctx.UserValue(part).(string)
	text, _ := url.PathUnescape(raw)
	return text
}

// query is the query parameters of a request that its endpoint knows; others are ignored.
type query struct {
	values map[string]string
	field  string // the first parameter at fault; empty: none is
	fault  string
}

// query reads the parameters with the given names, which are in snake_case. With camelCase
// either spelling is taken.
func (c *call) query(names ...string) *query { return queryOf(c.ctx, c.camel, names) }

func queryOf(ctx *fasthttp.RequestCtx, camel bool, names []string) *query {
	q := &query{values: map[string]string{}}
	for key, value := range ctx.QueryArgs().All() {
		name := string(key)
		if camel {
			name = string(appendSnake(nil, name))
		}
		if !slices.Contains(names, name) {
			continue
		}
		if _, twice := q.values[name]; twice {
			q.refuse(name, name+" is given twice")
		}
		q.values[name] = string(value)
	}
	return q
}

func (q *query) refuse(field, fault string) {
	if q.field == "" {
		q.field, q.fault = field, fault
	}
}

const (
	defaultPerPage = 20
	maxPerPage     = 100
)

// pages reads page and per_page. A per_page above the largest one is served as the largest.
func (q *query) pages() (page, perPage int) {
	return q.positive("page", 1, 0), min(q.positive("per_page", defaultPerPage, maxPerPage), maxPerPage)
}

// positive reads a positive integer. most stands for a number that is too large for 63 bits;
// where it is 0, such a number is a fault.
func (q *query) positive(name string, otherwise, most int) int {
	text, given := q.values[name]
	if !given {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if most > 0 && errors.Is(err, strconv.ErrRange) {
		return most
	}
	if err != nil || n == 0 {
		q.refuse(name, name+" must be a positive integer")
		return otherwise
	}
	return int(n)
}

// answered answers a request whose query is at fault, with the field named, and returns true;
// false for a query without a fault.
func (q *query) answered(c *call) bool {
	if q.field == "" {
		return false
	}
	o := opened(c.camel, 256)
	o.flag("worked", false)
	answer(c.ctx, fasthttp.StatusBadRequest, fieldBody(o, q.field, q.fault))
	return true
}
