// Package redact says what of a text of somebody else may stand in a log line, an alert, an
// error or a stored delivery attempt. It hides what identifies a person: documents, phone
// numbers and the local part of e-mail addresses.
package redact

import (
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"regexp"
	"strings"
)

// Hidden stands in place of what is hidden.
const Hidden = "***"

// personal finds what Text hides, and before it the ids, addresses and times whose digits it
// leaves.
var personal = regexp.MustCompile(
	`\b[ED][0-9A-Z]{8}[0-9]{12}[0-9A-Za-z]{11}\b` + // an end-to-end id, or the id of a return
		`|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b` + // a UUID
		`|` + stamp +
		`|` + duration +
		`|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b` + // an IPv4 address
		`|[^\s@"'<>(),;:=]+(?:@|%40)[^\s@"'<>(),;:=]+` + // an e-mail address
		`|\+\p{Nd}(?:` + between + `\p{Nd}){7,}` + // a phone number with the country's code
		`|\p{Nd}(?:` + between + `\p{Nd}){10,}` + // 11 digits or more
		`|\([0-9]{2,3}\)` + between + `[0-9]{4,5}` + between + `[0-9]{4}\b` + // a phone number with the area's code
		`|\b[0-9]{2,3}[ .\p{Pd}]{1,3}[0-9]{4,5}[ .\p{Pd}]{1,3}[0-9]{4}\b` +
		`|\b[0-9]{2}[ \p{Pd}]{1,3}[0-9]{8}\b` +
		`|\b9 ?[0-9]{4}[ .\p{Pd}][0-9]{4}\b` + // a mobile phone's number
		`|\b[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}/?[0-9A-Z]{4}-?[0-9]{2}\b`) // a CNPJ with letters

// between is the punctuation that may stand between two digits of a document or a phone number.
const between = `[\t\p{Z}\p{Pd}./()_]{0,3}`

// stamp is a time with its date, and duration a time.Duration. They have no form of a document.
const (
	stamp    = `\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z| ?[+-][0-9]{2}:?[0-9]{2}\b)?`
	duration = `\b[0-9]{1,3}\.[0-9]{1,9}[num\x{b5}]?s\b|[hm][0-9]{1,2}\.[0-9]{1,9}s\b`
)

var unchanged = regexp.MustCompile(`^(?:` + stamp + `|` + duration + `)$`)

// Text returns a text without what identifies a person: of an e-mail address it leaves the
// domain; of 11 digits or more, also with the usual punctuation between them, and of a shorter phone
// number that can be told by its punctuation, nothing. The digits of end-to-end ids, UUIDs,
// IPv4 addresses, times with their date and durations stay. Names of people cannot be
// recognised: a text that may contain one must not be shown at all.
func Text(s string) string {
	return personal.ReplaceAllStringFunc(s, hidden)
}

// Path returns the path of a request without what identifies a person, and without a PIX key, of whatever kind, that stands in it
// behind pix-keys.
func Path(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if parts[i] = Text(part); i > 0 && parts[i-1] == "pix-keys" {
			parts[i] = Hidden
		}
	}
	return strings.Join(parts, "/")
}

// hidden returns what stands in place of a text that personal has found.
func hidden(found string) string {
	for _, at := range []string{"@", "%40"} {
		if _, domain, is := strings.Cut(found, at); is {
			return Hidden + at + Text(domain)
		}
	}
	if _, err := netip.ParseAddr(found); err == nil || isID(found) || unchanged.MatchString(found) {
		return found
	}
	if found[0] == '+' {
		return "+" + Hidden
	}
	return Hidden
}

// isID reports whether a text that personal has found is an end-to-end id, the id of a return
// or a UUID.
func isID(s string) bool {
	return s[0] == 'E' || s[0] == 'D' || len(s) == 36 && uuid.MatchString(s)
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// code matches what Code shows: no sentence, and no full name of a person.
var code = regexp.MustCompile(`^[0-9A-Za-z_.:/+-]{0,64}$`)

// Code returns a code or an id that somebody else sent, in quotation marks and as Text shows
// it. Of a text that is longer than 64 bytes, or has a space or another character that codes
// do not have, it says only how long the text is.
func Code(s string) string {
	if !code.MatchString(s) {
		return fmt.Sprintf("a text of %d bytes", len(s))
	}
	return `"` + Text(s) + `"`
}

// longestLine is the greatest length in bytes of Line's result.
const longestLine = 200

// Line returns an error's text as one line of at most 200 printable ASCII characters, as Text
// shows it. It ends before what the standard library repeats of another side's answer: before
// the first quotation mark, and before a malformed line of a head.
func Line(err error) string {
	text := err.Error()
	if protocol := textproto.ProtocolError(""); errors.As(err, &protocol) {
		text, _, _ = strings.Cut(text, " line:")
	}
	text, _, _ = strings.Cut(text, `"`)
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, Text(text))
	return strings.TrimRight(text[:min(len(text), longestLine)], " ([:")
}

// Error returns an error whose text is Line's, and which wraps err.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &line{Line(err), err}
}

// quoted matches a text in quotation marks, with escapes.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Decoding returns an error which wraps err, a JSON decoder's. In its text the names of
// fields, which the decoder quotes, are as Code shows them.
func Decoding(err error) error {
	if err == nil {
		return nil
	}
	text := quoted.ReplaceAllStringFunc(err.Error(), func(name string) string { return Code(name[1 : len(name)-1]) })
	return &line{Text(text), err}
}

type line struct {
	text string
	err  error
}

// Error implements error.
func (l *line) Error() string { return l.text }

// Unwrap returns the error with its whole text.
func (l *line) Unwrap() error { return l.err }
