package ledger

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pixd/actors/cbormap"
)

// TestAppendIsMarshal checks that Append writes the bytes that the CBOR package makes of a
// body by its tags, for every field alone with several values, and for random bodies. A
// field that is added to a record, and not to Append, fails here.
func TestAppendIsMarshal(t *testing.T) {
	for _, r := range goldenRecords() {
		sameAsMarshal(t, &r)
	}
	one := &filler{rand: rand.New(rand.NewPCG(1, 2)), set: 1}
	for target := 1; ; target++ {
		one.target = target
		for range 40 {
			one.at = 0
			r := &Record{}
			one.fill(reflect.ValueOf(&r.Body).Elem(), "Body")
			sameAsMarshal(t, r)
		}
		if one.at < target {
			break
		}
	}
	many := &filler{rand: rand.New(rand.NewPCG(3, 4)), set: 2}
	for range 4_000 {
		r := &Record{}
		many.fill(reflect.ValueOf(&r.Body).Elem(), "Body")
		sameAsMarshal(t, r)
	}
}

func sameAsMarshal(t *testing.T, r *Record) {
	t.Helper()
	want, err := cbormap.Encoding.Marshal(&r.Body)
	if err != nil {
		t.Fatal(err)
	}
	before := []byte("before")
	if got := r.Append(bytes.Clone(before)); !bytes.Equal(got, append(before, want...)) {
		t.Fatalf("%+v\n got %x\nwant %x", r.Body, got[len(before):], want)
	}
}

// filler sets fields of a value, at any depth: with set = 1 the one field whose number is
// target, with set = 2 each with an even chance.
type filler struct {
	rand            *rand.Rand
	set, target, at int
}

// chosen tells whether the next field is to be set.
func (f *filler) chosen() bool {
	f.at++
	if f.set == 1 {
		return f.at == f.target
	}
	return f.rand.IntN(2) == 0
}

func (f *filler) fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.fill(v.Field(i), name+"."+field.Name)
			}
		}
	case reflect.Pointer:
		inner := reflect.New(v.Type().Elem())
		empty := f.chosen()
		f.fill(inner.Elem(), name)
		if empty || !inner.Elem().IsZero() {
			v.Set(inner)
		}
	case reflect.Slice:
		if f.chosen() {
			v.Set(reflect.MakeSlice(v.Type(), f.rand.IntN(4), 300))
			if f.rand.IntN(4) == 0 && v.Type().Elem().Kind() == reflect.Uint8 {
				v.SetLen(300)
			}
			for i := range v.Len() {
				f.scalar(v.Index(i), name)
			}
		}
	default:
		if f.chosen() {
			f.scalar(v, name)
		}
	}
}

// edges are numbers around which the length of their form changes.
var edges = []uint64{0, 1, 23, 24, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1<<64 - 1}

func (f *filler) scalar(v reflect.Value, name string) {
	n := edges[f.rand.IntN(len(edges))]
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
		if f.rand.IntN(2) == 0 {
			v.SetInt(-int64(n))
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.Set(reflect.ValueOf(n).Convert(v.Type()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(string(bytes.Repeat([]byte("ç"), []int{0, 1, 11, 12, 127, 128, 40000}[f.rand.IntN(7)])))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(f.rand.Uint64() & 0xff)
		}
	case reflect.Struct:
		f.fill(v, name)
	default:
		panic(fmt.Sprintf("%s: no value of kind %v", name, v.Kind()))
	}
}
