package httpapi

import (
	"regexp"
	"slices"
)

// quoted matches a quoted string in an error of the fasthttp server. The server quotes the
// header that it could not read, which may have a credential.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// unquoted replaces the quoted strings in the errors among a message's args. The server's
// own SecureErrorLogMessage does not cover a header's value with a control character in it,
// nor the last word of the request line.
func unquoted(args []any) []any {
	args = slices.Clone(args)
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = quoted.ReplaceAllLiteralString(err.Error(), `"…"`)
		}
	}
	return args
}
