package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestBookTravels checks that a book is read as it was sent, even with many accounts.
func TestBookTravels(t *testing.T) {
	many := scheme.Book{At: noon, Participants: []scheme.ParticipantBook{{ISPB: "99999004", Messages: 1 << 60}}}
	for n := range 2000 {
		many.Accounts = append(many.Accounts, scheme.AccountBook{Account: pix.AccountID(n + 1), Sums: scheme.Sums{Sent: pix.Amount(n) << 50}})
	}
	for name, b := range map[string]scheme.Book{
		"empty": {At: noon},
		"small": {
			At: noon, OldestOpen: noon - 1,
			Participants: []scheme.ParticipantBook{{ISPB: "9AZ99B04", Messages: 4, Sums: scheme.Sums{Sent: 1, Received: 2, ReturnedBy: 3, ReturnedTo: 4}}},
			Accounts:     []scheme.AccountBook{{Account: 7, Sums: scheme.Sums{Sent: 1, Received: 2, ReturnedBy: 3, ReturnedTo: 4}}},
		},
		"longer than a message": many,
	} {
		body := string(encode(TellBook(b)))
		server := httptest.NewServer(signing(t, 200, body, nil))
		got, err := asking(t, server.URL).Book(t.Context())
		server.Close()
		if err != nil || !reflect.DeepEqual(got, b) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		if name == "longer than a message" && len(body) <= MaxBody {
			t.Errorf("%d bytes are none too many", len(body))
		}
	}
}

// TestBookRefused checks that a malformed book is refused.
func TestBookRefused(t *testing.T) {
	const at, nobody, rest = `"at":"2026-10-29T12:00:00.000Z"`, `"participants":[]`, `"sent":0,"received":0,"returned_by":0,"returned_to":0`
	for body, want := range map[string]string{
		`{}`:                                "at must be",
		`{"at":"noon",` + nobody + `}`:      "at must be",
		`{"at":"1970-01-01T00:00:00Z"}`:     "at must be",
		`{` + at + `,"oldest_open":"noon"}`: "oldest_open",
		`{` + at + `}`:                      "required",
		`{` + at + `,` + nobody + `}`:       "required",
		`{` + at + `,` + nobody + `,"accounts":[{"account_id":"7"}]}`:                                                    "account",
		`{` + at + `,` + nobody + `,"accounts":[{"account_id":"acc_aaaaaaaaaaaao","sent":-1}]}`:                          "account",
		`{` + at + `,` + nobody + `,"accounts":[{"account_id":"acc_aaaaaaaaaaaao"},{"account_id":"acc_aaaaaaaaaaaao"}]}`: "account",
		`{` + at + `,` + nobody + `,"accounts":[],"next":"x"}`:                                                           "next must",
		`{` + at + `,"accounts":[],"participants":[{"ispb":"1",` + rest + `}]}`:                                          "participant",
		`{` + at + `,"accounts":[],"participants":[{"ispb":"9999900a",` + rest + `}]}`:                                   "participant",
		`{` + at + `,"accounts":[],"participants":[{"ispb":"99999004","returned_to":-5}]}`:                               "participant",
		`{` + at + `,"accounts":[],"participants":[{"ispb":"99999004","sent":1.5}]}`:                                     "cannot be read",
		`{` + at + `,"accounts":[],"participants":[{"ispb":"99999004"},{"ispb":"99999004"}]}`:                            "participant",
	} {
		server := httptest.NewServer(signing(t, 200, body, nil))
		got, err := asking(t, server.URL).Book(t.Context())
		server.Close()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "read the book") {
			t.Errorf("%s: %+v %v", body, got, err)
		}
	}
	for _, body := range []string{`{"limit":-1}`, `{"after":"` + strings.Repeat("x", 65) + `"}`} {
		if q, err := ReadBookQuestion([]byte(body)); err == nil {
			t.Errorf("%s: %+v", body, q)
		}
	}
	if _, err := ReadBookQuestion([]byte(`{"account_id":"x"}`)); err == nil || !strings.Contains(err.Error(), "account_id") {
		t.Error(err)
	}
}

// TestLongBook checks that a book of many pages is read however long that takes, and that a page which does not come ends it.
func TestLongBook(t *testing.T) {
	const pages = 10
	var page atomic.Int64
	var hangs atomic.Bool
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := page.Add(1)
		if time.Sleep(100 * time.Millisecond); hangs.Load() && n == pages {
			<-over
			return
		}
		b := TellBook(scheme.Book{At: noon, Accounts: []scheme.AccountBook{{Account: pix.AccountID(n)}}})
		if n < pages {
			b.Next = "n"
		}
		signing(t, 200, string(encode(b)), nil)(w, r)
	}))
	defer server.Close()
	defer close(over)
	p := asking(t, server.URL)
	p.pageWithin = (pages - 1) * 100 * time.Millisecond
	if b, err := p.Book(t.Context()); err != nil || len(b.Accounts) != pages {
		t.Errorf("%d accounts: %v", len(b.Accounts), err)
	}
	hangs.Store(true)
	page.Store(0)
	if _, err := p.Book(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a page hangs: %v", err)
	}
}

// TestReasonsInCharacters checks that what the protocol counts in characters is not counted in bytes.
func TestReasonsInCharacters(t *testing.T) {
	for n, good := range map[int]bool{35: true, 36: false} {
		reason := strings.Repeat("ã", n)
		if s, err := (State{"rejected", reason}).parse(); (err == nil) != good || good && s.Reason != reason {
			t.Errorf("a state's reason of %d characters: %v", n, err)
		}
		m := Notice{Kind: "payment_rejected", TransactionID: "01a1fe44-4219-700c-8000-000000000000", EndToEndID: "E9999900420261029120000000000001", Reason: reason}
		if _, err := m.parse(); (err == nil) != good {
			t.Errorf("a notice's reason of %d characters: %v", n, err)
		}
	}
	for n, good := range map[int]bool{scheme.MaxAfter: true, scheme.MaxAfter + 1: false} {
		next := strings.Repeat("ã", n)
		if _, err := (&MovementList{Movements: []Movement{}, Next: next}).parse(); (err == nil) != good {
			t.Errorf("a next of %d characters: %v", n, err)
		}
	}
}

// TestBookPages checks that a book is read page by page, that a provider which refuses to give
// pages is asked for all of it, and that pages are refused that do not make one book.
func TestBookPages(t *testing.T) {
	const at, other = `"at":"2026-10-29T12:00:00.000Z"`, `"at":"2026-10-29T12:00:00.001Z"`
	const parts, none = `,"participants":[{"ispb":"99999004","sent":3}]`, `,"participants":[]`
	const one, two = `,"accounts":[{"account_id":"acc_aaaaaaaaaaaao","sent":1}]`, `,"accounts":[{"account_id":"acc_aaaaaaaaaaaq2","sent":2}]`
	first := `{` + at + parts + one + `,"next":"n"}`
	longest := func(n int) string { return `{` + at + parts + one + `,"next":"` + strings.Repeat("n", n) + `"}` }
	for name, c := range map[string]struct {
		answers map[string]string // by the question; missing: 400
		fails   string            // a part of the error; empty: the book is read
	}{
		"pages":          {map[string]string{`{"limit":1}`: first, `{"after":"n","limit":1}`: `{` + at + none + two + `}`}, ""},
		"no pages":       {map[string]string{`{}`: `{` + at + parts + one[:len(one)-1] + `,` + two[len(`,"accounts":[`):] + `}`}, ""},
		"another moment": {map[string]string{`{"limit":1}`: first, `{"after":"n","limit":1}`: `{` + other + none + two + `}`}, "the same in all pages"},
		"open since":     {map[string]string{`{"limit":1}`: first, `{"after":"n","limit":1}`: `{` + at + `,"oldest_open":"2026-10-29T12:00:00Z"` + none + two + `}`}, "the same in all pages"},
		"account twice":  {map[string]string{`{"limit":1}`: first, `{"after":"n","limit":1}`: `{` + at + none + one + `}`}, "must stand once"},
		"part twice":     {map[string]string{`{"limit":1}`: first, `{"after":"n","limit":1}`: `{` + at + parts + two + `}`}, "must stand once"},
		"forgotten":      {map[string]string{`{}`: first, `{"limit":1}`: first}, "answer 400"},
		"longest next":   {map[string]string{`{"limit":1}`: longest(64), `{"after":"` + strings.Repeat("n", 64) + `","limit":1}`: `{` + at + none + two + `}`}, ""},
		"longer next":    {map[string]string{`{"limit":1}`: longest(65)}, "next must"},
		"no end":         {map[string]string{`{"limit":1}`: first, `{"after":"n","limit":1}`: `{` + at + none + `,"accounts":[],"next":"n"}`}, "next must"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer, ok := c.answers[string(body)]
			if !ok {
				signing(t, 400, `{"error":{"status":400,"message":"no"}}`, nil)(w, r)
				return
			}
			signing(t, 200, answer, nil)(w, r)
		}))
		p := asking(t, server.URL)
		p.bookPage = 1
		got, err := p.Book(t.Context())
		server.Close()
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %+v %v", name, got, err)
			}
			continue
		}
		want := scheme.Book{
			At: noon, Participants: []scheme.ParticipantBook{{ISPB: "99999004", Sums: scheme.Sums{Sent: 3}}},
			Accounts: []scheme.AccountBook{{Account: 7, Sums: scheme.Sums{Sent: 1}}, {Account: 9, Sums: scheme.Sums{Sent: 2}}},
		}
		if len(got.Accounts) == 2 {
			want.Accounts[1].Account = got.Accounts[1].Account
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}
