package provider

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
)

// TestBookTravels checks that a book is read as it was sent, even with many accounts.
func TestBookTravels(t *testing.T) {
	many := scheme.Book{At: noon, Participants: []scheme.ParticipantBook{{ISPB: "99999004", Messages: 1 << 60}}}
	for n := range 2000 {
		many.Accounts = append(many.Accounts, scheme.AccountBook{Account: ledger.AccountID(n + 1), Sums: scheme.Sums{Sent: ledger.Amount(n) << 50}})
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
	if err := ReadBookQuestion([]byte(`{"account_id":"x"}`)); err == nil || !strings.Contains(err.Error(), "account_id") {
		t.Error(err)
	}
}
