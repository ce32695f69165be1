package main

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1GiB": 1 << 30, "1 GiB": 1 << 30, "500MB": 500_000_000, "0": 0, "1.5KiB": 1536, "7": 7, "1EiB": 1 << 60, "10gib": 10 << 30,
	} {
		var s size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%s: %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "-1", "-1GiB", "a", "1 apple", "9EiB", "99999999999999999999", "NaN"} {
		s := size(5)
		if err := s.Set(text); err == nil || s != 5 {
			t.Errorf("%s: %d, %v", text, s, err)
		}
	}
	for n, want := range map[size]string{1 << 30: "1GiB", 0: "0B", 1536: "1.5KiB", 10 << 30: "10GiB"} {
		if n.String() != want {
			t.Errorf("%d: %s", int64(n), n.String())
		}
	}
}
