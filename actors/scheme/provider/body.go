package provider

import (
	"fmt"

	"pixd/actors/strictjson"
)

// MaxBody is the longest message, either way, but for a book.
const MaxBody = 64 << 10

// rules are those of every message. It may be nested deeper than any message of this
// version is, because an answer may grow.
var rules = strictjson.Rules{Longest: MaxBody, Deepest: 7, Plain: true}

// decode reads a message into v. A name that v does not know is an error unless the
// message may grow.
func decode(body []byte, v any, mayGrow bool) error {
	return strictjson.Decode(body, rules, v, mayGrow)
}

// decodeUpTo is decode of what may be so many bytes long.
func decodeUpTo(longest int, body []byte, v any, mayGrow bool) error {
	long := rules
	long.Longest = longest
	return strictjson.Decode(body, long, v, mayGrow)
}

// encode writes a message. Ours always can be.
func encode(v any) []byte {
	b, err := strictjson.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("provider: encode %T: %v", v, err))
	}
	return b
}
