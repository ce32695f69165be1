package provider

import (
	"fmt"

	"pixd/actors/redact"
	"pixd/actors/strictjson"
)

// MaxBody is the greatest length in bytes of a message in either direction, except of an
// answer with the scheme's book.
const MaxBody = 64 << 10

// rules are the rules of JSON for every message. Deeper nesting is allowed than any message
// of this version has, because later versions may add fields to an answer.
var rules = strictjson.Rules{Longest: MaxBody, Deepest: 7, Plain: true}

// decode reads a message into v. A field that v does not have is an error, unless mayGrow:
// then the message may have fields of later versions. Of the message the error's
// text repeats only names of fields.
func decode(body []byte, v any, mayGrow bool) error {
	return redact.Decoding(strictjson.Decode(body, rules, v, mayGrow))
}

// decodeUpTo is decode for a message whose length may be up to longest bytes.
func decodeUpTo(longest int, body []byte, v any, mayGrow bool) error {
	long := rules
	long.Longest = longest
	return redact.Decoding(strictjson.Decode(body, long, v, mayGrow))
}

// encode writes a message. It panics on an error, because our messages can always be
// encoded.
func encode(v any) []byte {
	b, err := strictjson.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("provider: encode %T: %v", v, err))
	}
	return b
}
