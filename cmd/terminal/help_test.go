package terminal

import "testing"

func TestFold(t *testing.T) {
	t.Parallel()
	text := "One two\nthree four five.\n\n  a list   stays\nÉé fits seven"
	want := "One two\nthree four\nfive.\n\n  a list   stays\nÉé fits\nseven"
	if got := Fold(text, 10); got != want {
		t.Errorf("%q", got)
	}
}
