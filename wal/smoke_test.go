package wal

import (
	"fmt"
	"testing"
)

type outFunc func(error)

func (f outFunc) Release(err error) { f(err) }

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	for round := uint64(0); round < 2; round++ {
		s, err := Open(Options{Dir: dir, Hard: map[string]string{"ispb": "12345678"}})
		if err != nil {
			t.Fatal(err)
		}
		_, prev, err := s.Last(7)
		if err != nil {
			t.Fatal(err)
		}
		ch := make(chan error, 10)
		sealed := Seal(prev, Record{Stream: 7, Seq: round + 1, Kind: 1, Time: 5, Body: []byte("hello")})
		s.Append(&Entry{Stream: 7, Expect: round, Records: []Sealed{sealed}, Ops: []Op{{OpSet, []byte(fmt.Sprintf("a%d", round)), []byte("v")}}, Out: []Out{outFunc(func(err error) { ch <- err })}})
		if err := <-ch; err != nil {
			t.Fatal(err)
		}
		rep, err := s.Verify(nil)
		if err != nil || rep.Records != round+1 {
			t.Fatal(rep, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
