package bench

import (
	"strings"
	"testing"
)

// TestAuditAsText checks the lines that people read of an audit: the verdict first, then the
// differences, then how many of them are not shown.
func TestAuditAsText(t *testing.T) {
	for _, c := range []struct {
		audit Audit
		want  string
	}{
		{
			Audit{Answers: 12_345, Accounts: 1_000, Scheme: "compared", Seconds: 1.25},
			"audit: the books agree: 12,345 answers, 1,000 accounts, scheme's book compared (1.2 s)\n",
		},
		{
			Audit{},
			"audit: the books were not compared\n",
		},
		{
			Audit{Answers: 7, Accounts: 2, Scheme: "not compared"},
			"audit: the engine's book agrees with what clients were answered; the scheme's book was not compared: 7 answers, 2 accounts, scheme's book not compared (0.0 s)\n",
		},
		{
			Audit{Answers: 7, Accounts: 2, Scheme: "compared", Unknown: 1_200, InFlight: 3, Found: 1, Differences: []string{"one"}},
			"audit: THE BOOKS DIFFER, 1 difference: 7 answers, 2 accounts, scheme's book compared, 1,200 requests without a known outcome, 3 transactions still in flight (0.0 s)\n  one\n",
		},
		{
			Audit{Scheme: "compared", Found: 22, Differences: []string{"one", "two"}},
			"audit: THE BOOKS DIFFER, 22 differences: 0 answers, 0 accounts, scheme's book compared (0.0 s)\n  one\n  two\n  and 20 more\n",
		},
	} {
		var b strings.Builder
		c.audit.write(&b)
		if b.String() != c.want {
			t.Errorf("%q\nwant %q", b.String(), c.want)
		}
	}
}
