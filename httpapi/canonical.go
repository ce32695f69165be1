package httpapi

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// maxDepth is how many objects and arrays may stand inside one another in a body,
// the outermost included.
const maxDepth = 32

// Why a body is unusable.
const (
	reasonNotJSON   = "not JSON"
	reasonNotObject = "not a JSON object"
	reasonNotUTF8   = "not UTF-8"
	reasonBOM       = "starts with a byte-order mark"
	reasonSurrogate = "lone surrogate"
	reasonTwice     = "key stands twice"
	reasonOneKey    = "two keys are one in snake_case"
	reasonTooDeep   = "deeper than 32 levels"
	reasonTrailing  = "something follows the object"
)

// Unusable is the refusal of a body that has no canonical form: not JSON as RFC
// 8259 defines it, no object, not UTF-8, a byte-order mark, a lone surrogate, a
// key that stands twice in an object (as written or, with camelCase, once
// converted), or more than 32 levels.
type Unusable struct {
	Reason string // for people; never a part of the body
	Offset int    // where it was noticed, in bytes from the body's start
}

func (e *Unusable) Error() string {
	return "unusable body: " + e.Reason + " at byte " + strconv.Itoa(e.Offset)
}

// Canonical returns the canonical form of body, which a request's signature is
// taken over: object keys in the byte order of their decoded UTF-8 at every level,
// no white space, numbers as they were written, strings as raw UTF-8 with only the
// escapes that JSON requires: \" and \\, \b \t \n \f \r, and \u00xx in lower case
// for the other control characters. It is never longer than body. The error is an
// *Unusable.
func Canonical(body []byte) ([]byte, error) {
	return canonical(make([]byte, 0, len(body)), body)
}

// canonical appends the canonical form of body to dst; where body has none, it
// returns dst as it was and an *Unusable.
func canonical(dst, body []byte) ([]byte, error) {
	c := canonicalisers.Get().(*canonicaliser)
	defer c.release()
	return c.run(dst, body, false, nil)
}

// canonicaliser turns a body into its canonical form in one pass: it checks the
// grammar, writes what it has read in canonical spelling, and, where an object's
// keys turn out not to be in order, moves that object's members as they lie in the
// output. Nothing is built of the values in between.
type canonicaliser struct {
	in      []byte
	at      int // how far in has been read
	out     []byte
	members []member // of the objects that are open, the innermost's last
	keys    []byte   // the decoded keys of members
	swap    []byte
	forms   []snakeForm
	camel   bool     // keys must stay apart once converted to snake_case,
	aliases []string // save these
	sorted  bool     // all keys read so far were in order
	bad     *Unusable

	room []byte   // a place for out
	sum  [64]byte // a place for an HMAC
}

// member is one key and value of an object.
type member struct {
	key, keyEnd       int // in keys
	start, value, end int // in out: the key's opening quote, the value, and behind it
}

var canonicalisers = sync.Pool{New: func() any { return new(canonicaliser) }}

// release gives c back for other bodies; one that has grown for a huge body is
// left to the collector.
func (c *canonicaliser) release() {
	if cap(c.room)+cap(c.swap)+cap(c.keys) > 64<<10 || cap(c.members)+cap(c.forms) > 4096 {
		return
	}
	c.in, c.out, c.aliases, c.bad = nil, nil, nil, nil
	canonicalisers.Put(c)
}

// run appends the canonical form of body to dst; with camel, the keys must also
// stay apart in snake_case, save aliases (see checkForms). Afterwards sorted says
// whether body's keys stand in order.
func (c *canonicaliser) run(dst, body []byte, camel bool, aliases []string) ([]byte, error) {
	c.in, c.at, c.out, c.camel, c.aliases = body, 0, dst, camel, aliases
	c.members, c.keys, c.sorted, c.bad = c.members[:0], c.keys[:0], true, nil
	if !c.document() {
		return dst, c.bad
	}
	return c.out, nil
}

// fields hands the members of the object that run has read to take, in the order of
// their keys: the name as it reads, after a run with camel in its snake_case form; the
// value in canonical spelling. null counts as absent. What take is given is not its to
// keep.
func (c *canonicaliser) fields(take func(name, value []byte)) {
	for _, m := range c.members {
		name, value := c.keys[m.key:m.keyEnd], c.out[m.value:m.end]
		if c.camel && hasUpper(name) {
			name = appendSnake(make([]byte, 0, len(name)+8), name)
		}
		if string(value) != "null" {
			take(name, value)
		}
	}
}

func (c *canonicaliser) document() bool {
	switch {
	case bytes.HasPrefix(c.in, []byte("\xef\xbb\xbf")):
		return c.refuse(reasonBOM)
	case !utf8.Valid(c.in):
		return c.refuse(reasonNotUTF8)
	}
	switch b := c.next(); {
	case b == '{':
	case b == '[' || b == '"' || b == '-' || digit(b) || b == 't' || b == 'f' || b == 'n':
		return c.refuse(reasonNotObject)
	default:
		return c.refuse(reasonNotJSON)
	}
	if !c.object(1) {
		return false
	}
	if c.next(); c.at < len(c.in) {
		return c.refuse(reasonTrailing)
	}
	return true
}

// refuse notes why the body is unusable and returns false.
func (c *canonicaliser) refuse(reason string) bool {
	c.bad = &Unusable{Reason: reason, Offset: c.at}
	return false
}

// object reads an object, c.at being at its opening brace.
func (c *canonicaliser) object(level int) bool {
	if level > maxDepth {
		return c.refuse(reasonTooDeep)
	}
	first, keys, ordered := len(c.members), len(c.keys), true
	c.take('{')
	start := len(c.out)
	for b := c.next(); b != '}'; b = c.next() {
		n := len(c.members)
		if n > first {
			if b != ',' {
				return c.refuse(reasonNotJSON)
			}
			c.take(b)
		}
		if !c.member(level) {
			return false
		}
		if n > first {
			order := c.compare(c.members[n-1], c.members[n])
			if order == 0 {
				return c.refuse(reasonTwice)
			}
			ordered = ordered && order < 0
		}
	}
	if c.camel && !c.checkForms(first, level) || !ordered && !c.reorder(first, start) {
		return false
	}
	c.take('}')
	if level > 1 { // the outermost object's are the request's fields
		c.members, c.keys = c.members[:first], c.keys[:keys]
	}
	return true
}

// member reads a key and its value.
func (c *canonicaliser) member(level int) bool {
	if c.next() != '"' {
		return c.refuse(reasonNotJSON)
	}
	m := member{key: len(c.keys), start: len(c.out)}
	if !c.text() {
		return false
	}
	c.keys = appendDecoded(c.keys, c.out[m.start+1:len(c.out)-1])
	m.keyEnd = len(c.keys)
	if c.next() != ':' {
		return c.refuse(reasonNotJSON)
	}
	c.take(':')
	m.value = len(c.out)
	if !c.value(level) {
		return false
	}
	m.end = len(c.out)
	c.members = append(c.members, m)
	return true
}

// compare orders two members by the bytes of their decoded keys.
func (c *canonicaliser) compare(a, b member) int {
	return bytes.Compare(c.keys[a.key:a.keyEnd], c.keys[b.key:b.keyEnd])
}

// reorder puts the members from first on, which lie in out from start on, into the
// order of their keys. Two equal keys are found here where they did not stand side
// by side.
func (c *canonicaliser) reorder(first, start int) bool {
	c.sorted = false
	members := c.members[first:]
	slices.SortFunc(members, c.compare)
	c.swap = c.swap[:0]
	for i := range members {
		m := &members[i]
		if i > 0 {
			if c.compare(members[i-1], *m) == 0 {
				return c.refuse(reasonTwice)
			}
			c.swap = append(c.swap, ',')
		}
		moved := start + len(c.swap) - m.start
		c.swap = append(c.swap, c.out[m.start:m.end]...)
		m.start, m.value, m.end = m.start+moved, m.value+moved, m.end+moved
	}
	copy(c.out[start:], c.swap)
	return true
}
