package httpapi

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// maxDepth is the largest number of levels of objects and arrays in a body, the outermost
// object included.
const maxDepth = 32

// The reasons for which a body has no canonical form.
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

// Unusable is the refusal of a body that has no canonical form. Such a body is not JSON as
// RFC 8259 defines it, is not an object, is not UTF-8, starts with a byte-order mark, or
// has a lone surrogate, more than 32 levels, or the same key twice in an object (as written
// or, with camelCase, once converted).
type Unusable struct {
	Reason string // for people to read; it quotes nothing of the body
	Offset int    // where the fault was found, in bytes from the body's start
}

func (e *Unusable) Error() string {
	return "unusable body: " + e.Reason + " at byte " + strconv.Itoa(e.Offset)
}

// Canonical returns the canonical form of body, over which a request's signature is
// computed: object keys in the byte order of their decoded UTF-8 at every level, no white
// space, numbers as they were written, strings as raw UTF-8 with only the escapes that JSON
// requires: \" and \\, \b \t \n \f \r, and \u00xx in lower case for the other control
// characters. The form is never longer than body. The error is an *Unusable.
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

// canonicaliser turns a body into its canonical form in one pass. It checks the grammar and
// appends everything that it reads to out in canonical spelling. Where an object's keys
// prove to be out of order, it moves that object's members within out. It builds no tree of
// values.
type canonicaliser struct {
	in      []byte
	at      int // offset of the next byte of in to read
	out     []byte
	members []member // members of the objects that are still being read, those of the innermost object last
	keys    []byte   // decoded keys of the members
	swap    []byte
	forms   []snakeForm
	camel   bool     // run refuses two keys of one object that have the same snake_case form
	aliases []string // spellings to which camel does not apply: see checkForms
	sorted  bool     // the keys of all objects read so far were in canonical order
	bad     *Unusable

	room []byte // reused buffer for out
}

// member is one key and value of an object.
type member struct {
	key, keyEnd       int // offsets in keys of the decoded key's start and end
	start, value, end int // offsets in out of the key's opening quote, of the value, and of the first byte after it
}

var canonicalisers = sync.Pool{New: func() any { return new(canonicaliser) }}

// release puts c into the pool for other bodies; a canonicaliser whose buffers have grown
// for a huge body is left to the garbage collector.
func (c *canonicaliser) release() {
	if cap(c.room)+cap(c.swap)+cap(c.keys) > 64<<10 || cap(c.members)+cap(c.forms) > 4096 {
		return
	}
	c.in, c.out, c.aliases, c.bad = nil, nil, nil, nil
	canonicalisers.Put(c)
}

// run appends the canonical form of body to dst. With camel, it also refuses two keys of an
// object with the same snake_case form, except aliases (see checkForms). Afterwards sorted
// says whether all keys of body are in order.
func (c *canonicaliser) run(dst, body []byte, camel bool, aliases []string) ([]byte, error) {
	c.in, c.at, c.out, c.camel, c.aliases = body, 0, dst, camel, aliases
	c.members, c.keys, c.sorted, c.bad = c.members[:0], c.keys[:0], true, nil
	if !c.document() {
		return dst, c.bad
	}
	return c.out, nil
}

// fields calls take for each member of the outermost object that run has read, in the order
// of the keys. name is the decoded key, after a run with camel in its snake_case form; value
// is in canonical spelling. Members with the value null are left out. name and value are
// valid only during the call.
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

// refuse records why the body is unusable and returns false.
func (c *canonicaliser) refuse(reason string) bool {
	c.bad = &Unusable{Reason: reason, Offset: c.at}
	return false
}

// object reads the object whose opening brace is at c.at; level is 1 for the outermost.
func (c *canonicaliser) object(level int) bool {
	if level > maxDepth {
		return c.refuse(reasonTooDeep)
	}
	first, keys, ordered := len(c.members), len(c.keys), true
	c.keepByte('{')
	start := len(c.out)
	for b := c.next(); b != '}'; b = c.next() {
		n := len(c.members)
		if n > first {
			if b != ',' {
				return c.refuse(reasonNotJSON)
			}
			c.keepByte(b)
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
	c.keepByte('}')
	if level > 1 { // of inner objects the members are dropped; the outermost object's are kept as the request's fields
		c.members, c.keys = c.members[:first], c.keys[:keys]
	}
	return true
}

// member reads a key and its value in an object of this level.
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
	c.keepByte(':')
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

// reorder sorts an object's members by their keys. They are c.members from first on, and
// their text begins at start in out. It refuses two equal keys that were not next to each
// other in the body.
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
