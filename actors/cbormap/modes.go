package cbormap

import "github.com/fxamacker/cbor/v2"

// Encoding writes CBOR in core deterministic form: the same value always has the same bytes.
// Decoding refuses a map with a key twice, and a key that the struct does not know.
var (
	Encoding = must(cbor.CoreDetEncOptions().EncMode())
	Decoding = must(cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode())
)

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err)
	}
	return mode
}
