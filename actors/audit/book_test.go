package audit

import (
	"testing"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// book7 is a scheme's book at the time at, in which account 7 has sent the amount sent.
// open is the time of the oldest notice that is not acknowledged.
func book7(at, open pix.Millis, sent pix.Amount) *scheme.Book {
	b := &scheme.Book{At: at, OldestOpen: open}
	if sent > 0 {
		b.Accounts = []scheme.AccountBook{{Account: 7, Sums: scheme.Sums{Sent: sent}}}
	}
	return b
}

// TestComparisonOfRefused checks that a payment which the engine refuses while the books are
// read is no difference, and that a payment which it lacks still is.
func TestComparisonOfRefused(t *testing.T) {
	of := func(at, open pix.Millis, received, refused pix.Amount) *scheme.Book {
		return &scheme.Book{At: at, OldestOpen: open, Accounts: []scheme.AccountBook{{Account: 7, Sums: scheme.Sums{Received: received, Refused: refused}}}}
	}
	engine := func(n pix.Amount) map[pix.AccountID]scheme.Sums {
		return map[pix.AccountID]scheme.Sums{7: {Received: n}}
	}
	for name, c := range map[string]struct {
		engine pix.Amount
		after  *scheme.Book
		differ bool
	}{
		"refused meanwhile":                        {100, of(21, 0, 100, 10), false},
		"refused, and another came":                {100, of(21, 0, 120, 10), false},
		"refused, and another came and is counted": {120, of(21, 0, 120, 10), false},
		"refused, and one is lost":                 {99, of(21, 0, 120, 10), true},
		"refused, and credited all the same":       {110, of(21, 0, 100, 10), true},
		"lost":                                     {90, of(21, 0, 100, 10), true},
	} {
		var k Comparison
		k.Before(of(10, 9, 110, 0))
		k.Before(of(20, 15, 100, 10)) // now the notices up to 10 are acknowledged or refused
		if got := k.Judge(engine(c.engine), c.after); !k.Certain() || len(got) > 0 != c.differ {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRefusedPaymentHidesNoLoss checks that a credit which the engine lacks is found although a payment
// of the same size comes, and is refused, while the books are read.
func TestRefusedPaymentHidesNoLoss(t *testing.T) {
	of := func(at, open pix.Millis, received, refused pix.Amount) *scheme.Book {
		return &scheme.Book{At: at, OldestOpen: open, Accounts: []scheme.AccountBook{{Account: 7, Sums: scheme.Sums{Received: received, Refused: refused}}}}
	}
	for name, c := range map[string]struct {
		before []*scheme.Book
		after  *scheme.Book
	}{
		"at rest":                          {[]*scheme.Book{of(20, 0, 100, 0)}, of(21, 0, 100, 10)},
		"at rest, with older refusals":     {[]*scheme.Book{of(20, 0, 100, 30)}, of(21, 0, 100, 40)},
		"under load":                       {[]*scheme.Book{of(10, 9, 100, 0), of(20, 15, 100, 0)}, of(21, 15, 100, 10)},
		"under load, and another refused":  {[]*scheme.Book{of(10, 9, 110, 0), of(20, 15, 100, 10)}, of(21, 15, 100, 20)},
		"under load, after older refusals": {[]*scheme.Book{of(10, 9, 110, 30), of(20, 15, 100, 40)}, of(21, 15, 100, 40)},
		"with a bound from before":         {[]*scheme.Book{of(10, 0, 100, 0), of(20, 9, 100, 0)}, of(21, 9, 100, 10)},
	} {
		for engine, differ := range map[pix.Amount]int{90: 1, 99: 1, 100: 0} {
			var k Comparison
			for _, b := range c.before {
				k.Before(b)
			}
			got := k.Judge(map[pix.AccountID]scheme.Sums{7: {Received: engine}}, c.after)
			if !k.Certain() || len(got) != differ || differ > 0 && got[0].Scheme != 100 {
				t.Errorf("%s, the engine has %d: %+v", name, engine, got)
			}
		}
	}
}

func sent(n pix.Amount) map[pix.AccountID]scheme.Sums {
	return map[pix.AccountID]scheme.Sums{7: {Sent: n}, 8: {}}
}

// TestComparison checks lists of readings. A reading has the scheme's book before, the
// engine's sum and the scheme's book after; it is checked whether the comparison finds a
// difference, and whether the difference is certain.
func TestComparison(t *testing.T) {
	type reading struct {
		before  *scheme.Book
		engine  pix.Amount
		after   *scheme.Book
		differ  bool
		certain bool
		scheme  pix.Amount // what a difference says that the scheme has: its least, or its most where the engine has more
	}
	for name, readings := range map[string][]reading{
		"at rest":             {{book7(10, 0, 5), 5, book7(11, 0, 5), false, true, 0}},
		"in motion":           {{book7(10, 9, 5), 6, book7(11, 0, 7), false, false, 0}},
		"less, at rest":       {{book7(10, 0, 5), 4, book7(11, 0, 5), true, true, 5}, {book7(20, 0, 5), 4, book7(21, 0, 5), true, true, 5}},
		"more, at rest":       {{book7(10, 0, 5), 6, book7(11, 0, 5), true, true, 5}},
		"more, in motion":     {{book7(10, 9, 5), 8, book7(11, 9, 7), true, false, 7}},
		"a notice on its way": {{book7(10, 9, 5), 4, book7(11, 9, 5), true, false, 5}, {book7(20, 0, 5), 5, book7(21, 0, 5), false, true, 0}},
		// There is always a notice on its way. At the second reading, the notices about the
		// first reading's payments have been acknowledged.
		"never at rest": {{book7(10, 9, 5), 4, book7(11, 9, 6), true, false, 5}, {book7(20, 19, 8), 7, book7(21, 19, 9), false, true, 0}},
		// One settled payment is missing in the engine, under load. At the second reading,
		// the first book becomes the lower bound, so the difference is certain.
		"lost under load": {
			{book7(10, 9, 50), 48, book7(11, 9, 51), true, false, 50},
			{book7(20, 19, 80), 78, book7(21, 19, 90), false, true, 0},
		},
		"much lost under load": {
			{book7(10, 9, 50), 8, book7(11, 9, 51), true, false, 50},
			{book7(20, 19, 80), 38, book7(21, 19, 90), true, true, 50},
			{book7(30, 29, 110), 68, book7(31, 29, 120), true, true, 80},
		},
		"the same instant":         {{book7(10, 10, 5), 4, book7(11, 10, 5), true, false, 5}, {book7(20, 10, 5), 4, book7(21, 10, 5), true, false, 5}},
		"not at the scheme":        {{book7(10, 0, 0), 1, book7(11, 0, 0), true, true, 0}},
		"clean is not seen again":  {{book7(10, 9, 5), 5, book7(11, 9, 5), false, false, 0}, {book7(20, 0, 9), 5, book7(21, 0, 9), false, true, 0}},
		"the books are as of then": {{book7(10, 9, 5), 4, book7(11, 9, 5), true, false, 5}, {book7(20, 15, 7), 6, book7(21, 15, 7), false, true, 0}, {book7(30, 25, 7), 6, book7(31, 25, 7), false, true, 0}},
	} {
		var c Comparison
		for n, r := range readings {
			c.Before(r.before)
			found := c.Judge(sent(r.engine), r.after)
			if (len(found) > 0) != r.differ || c.Certain() != r.certain {
				t.Errorf("%s, reading %d: %+v, certain %v", name, n, found, c.Certain())
			}
			for _, d := range found {
				if d.Engine != r.engine || d.Scheme != r.scheme {
					t.Errorf("%s, reading %d: the engine has %d, the scheme %d, want %d", name, n, d.Engine, d.Scheme, r.scheme)
				}
			}
		}
	}
}

// TestJudgeFields checks that Judge compares each of the four sums, for accounts that only
// the engine or only the scheme has too.
func TestJudgeFields(t *testing.T) {
	b := &scheme.Book{At: 1, Accounts: []scheme.AccountBook{
		{Account: 7, Sums: scheme.Sums{Sent: 1, Received: 2, ReturnedBy: 3, ReturnedTo: 4}}, {Account: 9, Sums: scheme.Sums{Received: 5}},
	}}
	var c Comparison
	c.Before(b)
	found := c.Judge(map[pix.AccountID]scheme.Sums{7: {}, 8: {Sent: 6}}, b)
	var got string
	for _, d := range found {
		got += d.Account.String()[12:] + " " + d.Message + "\n"
	}
	const want = `aaaao sent: the engine has 0, the scheme 1
aaaao received: the engine has 0, the scheme 2
aaaao returned_by: the engine has 0, the scheme 3
aaaao returned_to: the engine has 0, the scheme 4
aaaaq sent: the engine has 6, the scheme 0
aaaas received: the engine has 0, the scheme 5
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
