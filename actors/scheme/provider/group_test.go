package provider

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzReadGroup checks that a group that can be read has 1 to MaxGroup parts of good and different ids
// and of bodies of at most MaxBody bytes, and is written again as it was.
func FuzzReadGroup(f *testing.F) {
	for _, s := range []string{
		"", "\n", "a /v1/payments/ask {}\n", "a /v1/payments/ask {}\nb /v1/keys/lookup {\"x\": 1}\n", "a b c", "a  \n", "a b c d\n", "a b c\r\n",
		"a b c\na b c\n", " b c\n", "ä b c\n", "a\tb\tc\n", "a b \x00\xff\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		parts, err := ReadGroup(slices.Clone(in))
		if err != nil {
			return
		}
		var again []byte
		ids := map[string]bool{}
		for _, p := range parts {
			if !messageID(p.ID) || ids[p.ID] || len(p.Body) > MaxBody || bytes.ContainsAny(p.Body, "\n") {
				t.Fatalf("%q: %+v", in, p)
			}
			ids[p.ID] = true
			before := len(again)
			if again = p.appendTo(again); len(again)-before != p.size() {
				t.Fatalf("%q has a line of %d bytes, not %d", in, len(again)-before, p.size())
			}
		}
		if !bytes.Equal(again, in) || len(parts) == 0 || len(parts) > MaxGroup {
			t.Fatalf("%q is %q", in, again)
		}
	})
}

// FuzzReadAnswerLine checks that a line of an answer can be read exactly where it has its five parts, and
// that nothing of it is lost.
func FuzzReadAnswerLine(f *testing.F) {
	for _, s := range []string{"", "a 200 t v1=00 {}", "a 200 t v1=00 {\"x\": \"a b\"}", "a 99 t s {}", "a 1000 t s {}", "a +200 t s {}", "a 200 t s", "    ", "a 0200 t s {}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := readAnswerLine(in)
		if err != nil {
			return
		}
		if a.status < 100 || a.status > 999 || len(a.id)+len(a.at)+len(a.signature)+len(a.body)+4+3 > len(in) {
			t.Fatalf("%q: %+v", in, a)
		}
		if fields := bytes.SplitN(in, []byte(" "), 5); a.id != string(fields[0]) || a.at != string(fields[2]) || a.signature != string(fields[3]) || !bytes.Equal(a.body, fields[4]) {
			t.Fatalf("%q: %+v", in, a)
		}
	})
}

// TestGroupBounds checks the longest body of a part, the number of parts, and the range of the status in
// a line that answers one.
func TestGroupBounds(t *testing.T) {
	line := func(id string, n int) []byte {
		return (&Part{id, PathAsk, []byte(strings.Repeat("x", n))}).appendTo(nil)
	}
	for n, good := range map[int]bool{0: true, MaxBody: true, MaxBody + 1: false} {
		if parts, err := ReadGroup(line("a", n)); (err == nil) != good || good && len(parts[0].Body) != n {
			t.Errorf("a body of %d bytes: %v", n, err)
		}
	}
	for n, good := range map[int]bool{0: false, 1: true, MaxGroup: true, MaxGroup + 1: false} {
		var group []byte
		for i := range n {
			group = append(group, line("m"+strings.Repeat("x", i%16)+strings.Repeat("y", i/16), 2)...)
		}
		if parts, err := ReadGroup(group); (err == nil) != good || good && len(parts) != n {
			t.Errorf("%d parts: %d, %v", n, len(parts), err)
		}
	}
	for status, good := range map[string]bool{"099": false, "100": true, "999": true, "99": false, "1000": false, "+99": false} {
		if _, err := readAnswerLine([]byte("a " + status + " t s {}")); (err == nil) != good {
			t.Errorf("status %s: %v", status, err)
		}
	}
}
