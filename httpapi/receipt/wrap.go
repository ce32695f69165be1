package receipt

import (
	"strings"
	"unicode"
)

const ellipsis = "…"

// wrapped cuts a text into lines of at most the width, in millimetres, in the present font:
// at spaces, and inside a word only where the word is wider than a line. A text of more than
// most lines loses its end, and its last line ends in an ellipsis. An empty text has one line.
func (d *drawing) wrapped(text string, width float64, most int) (all []string) {
	for {
		line := text[:d.fits(text, width)]
		if len(line) == len(text) {
			return append(all, line)
		}
		if len(all) == most-1 {
			return append(all, text[:d.fits(text, width-d.GetStringWidth(ellipsis))]+ellipsis)
		}
		if at := strings.LastIndexByte(text[:len(line)+1], ' '); at > 0 {
			line = line[:at]
		}
		all = append(all, line)
		text = strings.TrimPrefix(text[len(line):], " ")
	}
}

// fits returns the length in bytes of the longest beginning of the text that is not wider than
// the width, but at least one character. An accent stays with the letter before it.
func (d *drawing) fits(text string, width float64) int {
	end, used := 0, 0.0
	for i, r := range text {
		if !unicode.Is(unicode.M, r) {
			end = i
		}
		if used += d.GetStringWidth(string(r)); used > width && end > 0 {
			return end
		}
	}
	return len(text)
}
