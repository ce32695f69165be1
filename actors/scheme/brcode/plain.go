package brcode

import "golang.org/x/text/unicode/norm"

// appendPlain appends text reduced to plain ASCII, at most limit bytes of it. Letters lose
// their accents (the compatibility decomposition also makes ª an a and a no-break space a
// space), white space becomes single spaces, with none at either end, and characters
// without a plain form are dropped.
func appendPlain(b []byte, text string, limit int) []byte {
	w := stripper{start: len(b), end: len(b) + limit}
	for i := 0; i < len(text) && !w.full; {
		if text[i] < 0x80 {
			b = w.put(b, text[i])
			i++
			continue
		}
		letter := norm.NFKD.PropertiesString(text[i:])
		for _, c := range letter.Decomposition() {
			b = w.put(b, c)
		}
		i += max(1, letter.Size()) // letter.Size is 0 if the text is not UTF-8; then one byte is skipped
	}
	return b
}

// stripper appends the plain bytes of a text to a slice and joins white space. The slice is
// not a field of stripper, and so stays on the caller's stack.
type stripper struct {
	start, end int  // offsets in the slice at which the plain text starts and beyond which it is not written
	space      bool // white space was read, and the space for it is not written yet
	full       bool // a plain byte did not fit before end
}

func (w *stripper) put(b []byte, c byte) []byte {
	switch {
	case c == ' ' || c >= '\t' && c <= '\r':
		w.space = len(b) > w.start
	case !plain(c) || w.full:
	case w.space && len(b)+1 >= w.end, len(b) >= w.end:
		w.full = true
	case w.space:
		w.space = false
		return append(b, ' ', c)
	default:
		return append(b, c)
	}
	return b
}

// plain reports whether c may be part of a name, a city or a description. Symbols with a
// meaning in HTML, URLs or shells are left out, because readers treat them differently.
func plain(c byte) bool {
	switch c {
	case '.', ',', '-', '/', ':', '(', ')', '_', '@', '+':
		return true
	}
	return alphanumeric(c)
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// printable reports whether s is printable ASCII, spaces included.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// visible reports whether s is printable ASCII without spaces.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isTxID reports whether s is a static code's txid: [a-zA-Z0-9]{1,25}.
func isTxID(s string) bool {
	if s == "" || len(s) > maxTxID {
		return false
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) {
			return false
		}
	}
	return true
}
