package httpapi

import (
	"bytes"
	"slices"
	"strings"
)

// appendSnake appends the snake_case form of a key in camelCase, because the service knows
// its fields by their snake_case names: each upper-case ASCII letter becomes "_" and the
// lower-case letter. So originalTransactionId becomes original_transaction_id, a key in
// snake_case does not change, and any other spelling (Amount, AMOUNT) gives a name that no
// field has.
func appendSnake[K string | []byte](dst []byte, key K) []byte {
	for i := range len(key) {
		if c := key[i]; upper(c) {
			dst = append(dst, '_', c+'a'-'A')
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendCamel appends the camelCase form of one of the service's own names, which are in
// snake_case; appendSnake reverses it.
func appendCamel(dst []byte, name string) []byte {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c != '_' || i+1 == len(name) {
			dst = append(dst, c)
			continue
		}
		i++
		if c := name[i]; c >= 'a' && c <= 'z' {
			dst = append(dst, c-'a'+'A')
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// inCase returns one of the service's own texts with the names of fields in the key case of the
// request. What stands behind a quotation mark is the client's and stays as it is.
func inCase(text string, camel bool) string {
	if !camel || text == originalMissing {
		return text
	}
	own, quoted := text, ""
	if i := strings.IndexByte(text, '"'); i >= 0 {
		own, quoted = text[:i], text[i:]
	}
	return string(appendCamel(make([]byte, 0, len(text)), own)) + quoted
}

func hasUpper[K string | []byte](key K) bool {
	for i := range len(key) {
		if upper(key[i]) {
			return true
		}
	}
	return false
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// snakeForm is the snake_case form of a member's key.
type snakeForm struct {
	start, end int // offsets of the form's start and end in the canonicaliser's keys
	of         member
}

// checkForms refuses two keys with the same snake_case form in the object whose members start
// at first: one of the two values would be lost without notice. aliases are several spellings
// of one field, among which the endpoint chooses in an order of its own. Two keys that are
// both aliases may have the same form, but only in the outermost object, which has the
// endpoint's fields.
func (c *canonicaliser) checkForms(first, level int) bool {
	members, converted := c.members[first:], false
	c.forms = c.forms[:0] // the forms' bytes are appended to c.keys behind the members' keys, and are dropped together with them
	for _, m := range members {
		start := len(c.keys)
		key := c.keys[m.key:m.keyEnd]
		converted = converted || hasUpper(key)
		c.keys = appendSnake(c.keys, key)
		c.forms = append(c.forms, snakeForm{start, len(c.keys), m})
	}
	if !converted {
		return true // each key is its own snake_case form, and reorder or object refuses equal keys
	}
	form := func(f snakeForm) []byte { return c.keys[f.start:f.end] }
	slices.SortFunc(c.forms, func(a, b snakeForm) int { return bytes.Compare(form(a), form(b)) })
	for i, f := range c.forms[1:] {
		before := c.forms[i]
		if bytes.Equal(form(before), form(f)) && (level > 1 || !c.isAlias(before.of) || !c.isAlias(f.of)) {
			return c.refuse(reasonOneKey)
		}
	}
	return true
}

func (c *canonicaliser) isAlias(m member) bool {
	return slices.Contains(c.aliases, string(c.keys[m.key:m.keyEnd]))
}
