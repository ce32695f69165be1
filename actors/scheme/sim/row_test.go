package sim

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pixd/actors/cbormap"
	"pixd/actors/pix"
)

// TestRowIsMarshal checks that the rows which are encoded field by field have the bytes that
// the CBOR package makes of them by their tags, with each field set or zero.
func TestRowIsMarshal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p payment
		var m movement
		for _, v := range []any{&p, &m} {
			for i, s := 0, reflect.ValueOf(v).Elem(); i < s.NumField(); i++ {
				if rapid.Bool().Draw(t, "set") {
					drawField(t, s.Field(i))
				}
			}
		}
		for _, one := range []struct {
			got  []byte
			from any
		}{{p.row(), &p}, {m.row(), &m}} {
			if want, err := cbormap.Encoding.Marshal(one.from); err != nil || !bytes.Equal(one.got, want) {
				t.Fatalf("%+v: %x, want %x (%v)", one.from, one.got, want, err)
			}
		}
	})
}

func drawField(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case string:
		v.SetString(rapid.String().Draw(t, "text"))
	case pix.TxID:
		v.Set(reflect.ValueOf(pix.TxID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))))
	case pix.Amount, pix.Millis:
		v.SetInt(rapid.Int64().Draw(t, "number"))
	default:
		v.SetUint(uint64(rapid.Byte().Draw(t, "number")))
	}
}
