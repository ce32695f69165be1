package openapitest

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/goccy/go-json"
)

// snakeOf returns an exchange whose keys are in camelCase as the document has them: in snake_case. What
// is no JSON stays as it is.
func snakeOf(e Exchange) (Exchange, error) {
	at, err := url.Parse(e.URL)
	if err != nil {
		return e, fmt.Errorf("openapitest: %w", err)
	}
	q := url.Values{}
	for name, values := range at.Query() {
		q[snake(name)] = values
	}
	at.RawQuery = q.Encode()
	e.URL = at.String()
	e.Request, e.Answer = snakeKeys(e.Request), snakeKeys(e.Answer)
	return e, nil
}

func snakeKeys(body []byte) []byte {
	v, err := decode(body)
	if err != nil {
		return body
	}
	out, err := json.Marshal(renamed(v))
	if err != nil {
		return body
	}
	return out
}

// snakeKey returns a key of a body in JSON that is not in camelCase, or "".
func snakeKey(body []byte) string {
	v, err := decode(body)
	if err != nil {
		return ""
	}
	return firstSnake(v)
}

func firstSnake(v any) (name string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if strings.Contains(key, "_") {
				return key
			}
			name = cmp.Or(name, firstSnake(value))
		}
	case []any:
		for _, element := range v {
			name = cmp.Or(name, firstSnake(element))
		}
	}
	return name
}

func renamed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[snake(name)] = renamed(value)
		}
		return out
	case []any:
		for i := range v {
			v[i] = renamed(v[i])
		}
	}
	return v
}

func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
