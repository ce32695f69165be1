package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
)

// readings keeps books that an engine reads page by page, so that all pages of a book are of
// one instant. A book is kept until its last page was given, until no page was asked for in
// keptFor, or until keptAtMost later books are kept.
type readings struct {
	mu    sync.Mutex
	count uint64
	kept  []*reading // in the order in which they were begun
}

// reading is one book of which pages are left.
type reading struct {
	name string
	book scheme.Book
	end  *time.Timer
}

const (
	keptFor    = 30 * time.Second
	keptAtMost = 2
	// mostAccounts is the largest number of accounts in a page, whatever limit was asked for.
	mostAccounts = 100_000
)

// first returns the first page of a book: all of it if there is no limit, or if it fits.
func (r *readings) first(b scheme.Book, limit int) provider.Book {
	if limit == 0 || len(b.Accounts) <= min(limit, mostAccounts) {
		return provider.TellBook(b)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	k := &reading{name: fmt.Sprintf("%d-%d", b.At, r.count), book: b}
	k.end = time.AfterFunc(keptFor, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.drop(k)
	})
	if r.kept = append(r.kept, k); len(r.kept) > keptAtMost {
		r.drop(r.kept[0])
	}
	return k.page(0, limit)
}

// later returns a page after the first. It refuses a next that was never given, or whose book is
// no longer kept.
func (r *readings) later(q provider.BookQuestion) (provider.Book, error) {
	name, at, _ := strings.Cut(q.After, ".")
	from, err := strconv.Atoi(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(k *reading) bool { return k.name == name })
	if err != nil || i < 0 || from < 1 || from >= len(r.kept[i].book.Accounts) {
		return provider.Book{}, control.Bad("after is the next of no book that is still kept: read the book from its beginning")
	}
	k := r.kept[i]
	k.end.Reset(keptFor)
	page := k.page(from, q.Limit)
	if page.Next == "" {
		r.drop(k)
	}
	return page, nil
}

// drop lets a book go. The caller holds the lock.
func (r *readings) drop(k *reading) {
	k.end.Stop()
	r.kept = slices.DeleteFunc(r.kept, func(other *reading) bool { return other == k })
}

// page returns the accounts from a place on; the first page has the institutions.
func (k *reading) page(from, limit int) provider.Book {
	if limit == 0 {
		limit = mostAccounts
	}
	until := min(from+min(limit, mostAccounts), len(k.book.Accounts))
	b := k.book
	b.Accounts = b.Accounts[from:until]
	if from > 0 {
		b.Participants = nil
	}
	page := provider.TellBook(b)
	if until < len(k.book.Accounts) {
		page.Next = fmt.Sprintf("%s.%d", k.name, until)
	}
	return page
}
