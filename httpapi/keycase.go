package httpapi

import (
	"bytes"
	"slices"
)

// appendSnake appends the snake_case form of a key in camelCase, the form in which the
// service knows its fields: each upper-case ASCII letter becomes "_" and its
// lower-case one. So originalTransactionId is original_transaction_id; a key in
// snake_case is its own form; and what is neither (Amount, AMOUNT) is no field.
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

// appendCamel appends a name of ours, which is in snake_case, in camelCase: what
// appendSnake turns back into it.
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
	start, end int // in the canonicaliser's keys
	of         member
}

// checkForms sees to it that no two keys of the object whose members start at
// first have the same snake_case form, because one of them would be lost unseen.
// The spellings in aliases are those that an endpoint takes for one field and
// chooses between by an order of its own; these may meet, on the first level,
// where an endpoint's fields stand.
func (c *canonicaliser) checkForms(first, level int) bool {
	members, converted := c.members[first:], false
	c.forms = c.forms[:0] // they lie behind the keys, and go with them
	for _, m := range members {
		start := len(c.keys)
		key := c.keys[m.key:m.keyEnd]
		converted = converted || hasUpper(key)
		c.keys = appendSnake(c.keys, key)
		c.forms = append(c.forms, snakeForm{start, len(c.keys), m})
	}
	if !converted {
		return true // every key is its own form, and none stands twice
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
