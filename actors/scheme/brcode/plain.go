package brcode

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// plain returns text reduced to plain ASCII. Letters lose their accents (the compatibility
// decomposition also makes ª an a and a no-break space a space), white space becomes single
// spaces, with none at either end, and characters without a plain form are dropped: also
// symbols with a meaning in HTML, URLs or shells, because readers treat them differently.
func plain(text string) string {
	kept := strings.Map(func(c rune) rune {
		switch {
		case c == ' ' || c >= '\t' && c <= '\r':
			return ' '
		case alphanumeric(c) || strings.ContainsRune(".,-/:()_@+", c):
			return c
		}
		return -1
	}, norm.NFKD.String(text))
	return strings.Join(strings.Fields(kept), " ")
}

func alphanumeric(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// printable reports whether s is printable ASCII, spaces included.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// visible reports whether s is printable ASCII without spaces.
func visible(s string) bool { return printable(s) && !strings.Contains(s, " ") }

// isTxID reports whether s is a static code's txid: [a-zA-Z0-9]{1,25}.
func isTxID(s string) bool {
	return s != "" && len(s) <= maxTxID && !strings.ContainsFunc(s, func(c rune) bool { return !alphanumeric(c) })
}

// The forms of other values.
var (
	ispbForm = regexp.MustCompile(`^[0-9A-Z]{8}$`)
	category = regexp.MustCompile(`^[0-9]{4}$`)
	money    = regexp.MustCompile(`^([0-9]{1,10})\.([0-9]{2})$`)
)
