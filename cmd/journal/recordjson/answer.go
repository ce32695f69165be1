package recordjson

import (
	"slices"
	"strings"

	"pixd/actors/ledger"
	"pixd/httpapi"
)

// mask stands in place of a secret.
const mask = "***"

// secretNames are the names of members whose values could authenticate somebody: the one list
// for records and for stored answers. In an answer a name counts in either case of keys, at
// any depth.
var secretNames = []string{"secret", "secret_sha256", "client_secret", "token", "password", "authorization", "hmac"}

// urlName is the name of a webhook's URL, in records and in answers.
const urlName = "url"

// isSecret tells whether a member's value is secret: in client_secret, clientSecret and
// ClientSecret alike.
func isSecret(name string) bool {
	bare := func(s string) string { return strings.ReplaceAll(s, "_", "") }
	name = bare(name)
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.EqualFold(bare(s), name) })
}

// masked returns a URL without its query, in which receivers expect tokens.
func masked(url string) string {
	if before, _, found := strings.Cut(url, "?"); found {
		return before + "?" + mask
	}
	return url
}

// answer writes a stored answer. The body is shown in its canonical form, in which an object's
// members are sorted. A body that is no JSON object is masked whole: nobody knows what in it
// may be secret.
func (l *line) answer(a *ledger.Stored) {
	l.number("code", int64(a.Code))
	if len(a.Body) == 0 {
		return
	}
	body, err := httpapi.Canonical(a.Body)
	if err != nil {
		l.secret("body", true)
		return
	}
	l.name("body")
	c := &masking{in: string(body), out: l.b}
	c.value()
	l.b = c.out
}

// masking copies JSON in canonical form, and masks the secrets in it.
type masking struct {
	in  string // what is left to copy
	out []byte
}

// value copies a value.
func (m *masking) value() {
	switch m.in[0] {
	case '{':
		m.members('}', m.member)
	case '[':
		m.members(']', m.value)
	case '"':
		m.out = appendRaw(m.out, m.text())
	default:
		end := strings.IndexAny(m.in, ",]}")
		m.out = append(m.out, m.in[:end]...)
		m.in = m.in[end:]
	}
}

// members copies an object or a list.
func (m *masking) members(end byte, one func()) {
	for m.take(); m.in[0] != end; {
		if m.in[0] == ',' {
			m.take()
		}
		one()
	}
	m.take()
}

// member copies a member of an object. A secret value is copied too, and then replaced.
func (m *masking) member() {
	name := m.text()
	m.out = append(appendRaw(m.out, name), ':')
	m.in = m.in[1:]
	before := len(m.out)
	isText := m.in[0] == '"'
	m.value()
	name = name[1 : len(name)-1]
	switch {
	case isSecret(name):
		m.out = appendText(m.out[:before], mask)
	case isText && strings.EqualFold(name, urlName):
		value := string(m.out[before+1 : len(m.out)-1])
		m.out = append(append(append(m.out[:before], '"'), masked(value)...), '"')
	}
}

// take copies one byte.
func (m *masking) take() {
	m.out = append(m.out, m.in[0])
	m.in = m.in[1:]
}

// text takes a string, with its quotes and escapes.
func (m *masking) text() string {
	end := 1
	for ; m.in[end] != '"'; end++ {
		if m.in[end] == '\\' {
			end++
		}
	}
	s := m.in[:end+1]
	m.in = m.in[end+1:]
	return s
}

// appendRaw appends a JSON string that has its quotes and escapes already.
func appendRaw(b []byte, s string) []byte {
	for _, r := range s {
		b = appendCharacter(b, r)
	}
	return b
}
