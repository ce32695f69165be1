package openapitest

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"pixd/docs/openapi"
)

// Main is for the TestMain of a package whose tests show all that a document has: it reads the document
// into c, runs the tests, and fails where something of the document was in no exchange. Where only some
// of the tests run, nothing is missed. It returns the exit status.
func Main(of openapi.Document, c **Contract, run func() int) int {
	read, err := New(of.YAML)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*c = read
	flag.Parse()
	code := run()
	if unseen := read.Unseen(); code == 0 && len(unseen) > 0 && AllTests() {
		fmt.Fprintf(os.Stderr, "no test shows what the document %s has:\n\t%s\n", of.Name, strings.Join(unseen, "\n\t"))
		return 1
	}
	return code
}

// AllTests reports whether this run of a package's tests left none out.
func AllTests() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	short := flag.Lookup("test.short")
	return short == nil || short.Value.String() != "true"
}
