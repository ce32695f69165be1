package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
)

func bookOf(at pix.Millis, accounts int) scheme.Book {
	b := scheme.Book{At: at, Participants: []scheme.ParticipantBook{{ISPB: "99999004"}}}
	for n := range accounts {
		b.Accounts = append(b.Accounts, scheme.AccountBook{Account: pix.AccountID(n + 1)})
	}
	return b
}

// TestReadings checks that pages have each account once and the institutions once, that nobody
// gets more accounts than were asked for, and which books are given up.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r readings
		if m := r.first(bookOf(5, 3), 0); len(m.Accounts) != 3 || m.Next != "" {
			t.Errorf("without a limit: %+v", m)
		}
		if m := r.first(bookOf(5, 3), 3); len(m.Accounts) != 3 || m.Next != "" || len(r.kept) != 0 {
			t.Errorf("what fits: %+v", m)
		}
		seen, parts := map[string]int{}, 0
		m := r.first(bookOf(5, 7), 3)
		for pages := 1; ; pages++ {
			parts += len(m.Participants)
			for _, a := range m.Accounts {
				seen[a.AccountID]++
			}
			if len(m.Accounts) > 3 || m.At != pix.Millis(5).String() {
				t.Errorf("%+v", m)
			}
			if m.Next == "" {
				if pages != 3 {
					t.Errorf("%d pages", pages)
				}
				break
			}
			time.Sleep(keptFor - time.Second)
			var err error
			if m, err = r.later(provider.BookQuestion{After: m.Next, Limit: 3}); err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) != 7 || parts != 1 || len(r.kept) != 0 {
			t.Errorf("%v, %d institutions, %d kept", seen, parts, len(r.kept))
		}
		var next []string
		for n := range keptAtMost + 1 {
			next = append(next, r.first(bookOf(pix.Millis(n+1), 7), 3).Next)
		}
		refused := func(after string) {
			t.Helper()
			if m, err := r.later(provider.BookQuestion{After: after, Limit: 3}); err == nil {
				t.Errorf("%s: %+v", after, m)
			}
		}
		refused(next[0])
		for _, end := range []string{"", ".", ".-1", ".0", ".7", ".8", ".x"} {
			refused(next[1][:len(next[1])-2] + end)
		}
		if m, err := r.later(provider.BookQuestion{After: next[1], Limit: 0}); err != nil || len(m.Accounts) != 4 || m.Next != "" {
			t.Errorf("the rest: %+v %v", m, err)
		}
		time.Sleep(keptFor + time.Second)
		refused(next[2])
		if len(r.kept) != 0 {
			t.Errorf("%d books are kept for ever", len(r.kept))
		}
		if m := r.first(bookOf(9, mostAccounts+1), mostAccounts+1); len(m.Accounts) != mostAccounts || m.Next != fmt.Sprintf("9-%d.%d", r.count, mostAccounts) {
			t.Errorf("%d accounts, next %s", len(m.Accounts), m.Next)
		}
	})
}

// booked is a scheme that has a book of seven accounts, and counts how often it is read.
type booked struct {
	scheme.Scheme
	read int
}

func (b *booked) Book(context.Context) (scheme.Book, error) { b.read++; return bookOf(5, 7), nil }

// TestBookIsReadOnce checks that all pages that a provider asks for are of one reading of the book.
func TestBookIsReadOnce(t *testing.T) {
	of := &booked{}
	d := &peer{scheme: of}
	seen := map[string]bool{}
	q := provider.BookQuestion{Limit: 3}
	for pages := 1; ; pages++ {
		answer, err := d.book(t.Context(), q)
		page, ok := answer.(provider.Book)
		if err != nil || !ok || pages > 3 {
			t.Fatalf("page %d: %+v, %v", pages, answer, err)
		}
		for _, a := range page.Accounts {
			seen[a.AccountID] = true
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if len(seen) != 7 || of.read != 1 {
		t.Errorf("%d accounts of a book that was read %d times", len(seen), of.read)
	}
}
