package httpapi

import (
	"regexp"
	"slices"
)

// quoted is what an error of the server's has from a request it could not read:
// the header it stumbled over, and so perhaps a credential.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// unquoted leaves out of a message's errors what they quote. The server's own
// SecureErrorLogMessage forgets a header's value with a control character in it
// and the request line's last word.
func unquoted(args []any) []any {
	args = slices.Clone(args)
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = quoted.ReplaceAllLiteralString(err.Error(), `"…"`)
		}
	}
	return args
}
