package httpapi

import (
	"regexp"
	"slices"
)

// quoted matches a quoted string in an error of the fasthttp server. The server quotes the
// header that it could not read, which may have a credential.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// unquoted replaces the quoted strings in those args of a message that are errors. The
// server's own SecureErrorLogMessage does not hide a header's value that contains a control
// character, nor the last word of the request line.
func unquoted(args []any) []any {
	args = slices.Clone(args)
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = quoted.ReplaceAllLiteralString(err.Error(), `"…"`)
		}
	}
	return args
}
