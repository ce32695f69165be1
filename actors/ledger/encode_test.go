package ledger

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestBodiesRoundTrip checks that every field of a body is written, and read back as it was: each alone
// with several values, and random bodies. A field without a key of its own fails here.
func TestBodiesRoundTrip(t *testing.T) {
	for _, r := range goldenRecords() {
		roundTrip(t, &r)
	}
	each := 40
	if testing.Short() { // of one goroutine the race detector learns no more
		each = 4
	}
	one := &filler{rand: rand.New(rand.NewPCG(1, 2)), set: 1}
	for target := 1; ; target++ {
		one.target = target
		for range each {
			one.at = 0
			r := &Record{}
			one.fill(reflect.ValueOf(&r.Body).Elem(), "Body")
			roundTrip(t, r)
		}
		if one.at < target {
			break
		}
	}
	many := &filler{rand: rand.New(rand.NewPCG(3, 4)), set: 2}
	for range 100 * each {
		r := &Record{}
		many.fill(reflect.ValueOf(&r.Body).Elem(), "Body")
		roundTrip(t, r)
	}
}

// roundTrip checks that a body is read back as it was written, behind what the slice had before, and that
// a body with a field is not written as one without.
func roundTrip(t *testing.T, r *Record) {
	t.Helper()
	before := []byte("before")
	written := r.Append(bytes.Clone(before))
	rest, ok := bytes.CutPrefix(written, before)
	if !ok {
		t.Fatalf("%+v: what was there is gone: %x", r.Body, written)
	}
	again := &Record{Kind: PayoutHeld}
	if err := again.Decode(rest); err != nil {
		t.Fatalf("%+v: %x: %v", r.Body, rest, err)
	}
	if got := again.Encode(); !bytes.Equal(got, rest) {
		t.Fatalf("%+v\nread and written %x\nwant            %x", r.Body, got, rest)
	}
	if empty := (&Record{}).Encode(); !reflect.ValueOf(r.Body).IsZero() && bytes.Equal(rest, empty) {
		t.Fatalf("%+v is written as an empty body", r.Body)
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
			v.Set(reflect.MakeSlice(v.Type(), 1+f.rand.IntN(3), 300))
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
