package wal

import (
	"bytes"
	"reflect"
	"testing"
)

// TestFinish checks that a record whose body is appended to what Begin returns is the record
// that Seal makes, whether or not the room was enough, and that two records share no bytes.
func TestFinish(t *testing.T) {
	r := Record{Stream: 7, Seq: 3, Kind: 9, Time: 1772366400000, Body: bytes.Repeat([]byte("body"), 50)}
	want := Seal(11, r)
	var all []Sealed
	for _, room := range []int{0, 100, 200, 1000} {
		all = append(all, Finish(11, r.Stream, r.Seq, append(Begin(r.Kind, r.Time, room), r.Body...)))
	}
	for i, s := range all {
		if !reflect.DeepEqual(s, want) {
			t.Errorf("%d: %+v, want %+v", i, s, want)
		}
		clear(s.Value)
	}
	if back, err := Unseal(11, r.Stream, r.Seq, want.Value); err != nil || !bytes.Equal(back.Body, r.Body) {
		t.Errorf("%+v, %v", back, err)
	}
}
