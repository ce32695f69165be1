package cbormap

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"
)

// Encoding writes CBOR in core deterministic form: the same value always has the same bytes.
// Decoding refuses a map with a key twice, and a key that the struct does not know.
var (
	Encoding = must(cbor.CoreDetEncOptions().UserBufferEncMode())
	Decoding = must(cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode())
)

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err)
	}
	return mode
}

// Append appends v, in the form of Encoding, to b. A value that has no such form is a bug and panics.
func Append(b []byte, v any) []byte {
	to := bytes.NewBuffer(b)
	if err := Encoding.MarshalToBuffer(v, to); err != nil {
		panic("cbormap: " + err.Error())
	}
	return to.Bytes()
}
