package sim

import "testing"

// TestOlderChangeOfKey checks that a change of a key that is durable does not drop a later change of
// the same key, nor that of another key, and that the last change is dropped once it is durable.
func TestOlderChangeOfKey(t *testing.T) {
	s := &Sim{keys: map[string]keyChange{"k": {nil, 2}, "other": {&keyRow{Account: 7}, 1}}}
	s.keyWritten("k", 1)
	if len(s.keys) != 2 {
		t.Fatalf("after the first change %v are left", s.keys)
	}
	if _, ok, err := s.key("k"); ok || err != nil {
		t.Errorf("the key that is being removed is there: %v, %v", ok, err)
	}
	s.keyWritten("k", 2)
	if _, left := s.keys["k"]; left || len(s.keys) != 1 {
		t.Errorf("after the last change %v are left", s.keys)
	}
	s.keyWritten("k", 1) // is told late
	if row, ok, err := s.key("other"); !ok || row.Account != 7 || err != nil {
		t.Errorf("the other key is %+v, %v, %v", row, ok, err)
	}
}
