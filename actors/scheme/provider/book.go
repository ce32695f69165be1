package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"pixd/actors/pix"
	"pixd/actors/redact"
	"pixd/actors/scheme"
)

// PathBook is the provider's path for reading its book.
const PathBook = "/v1/book/read"

// maxBook is the greatest length in bytes of an answer to a BookQuestion. One account takes
// about a hundred bytes; a provider that knows no pages has all accounts in one answer.
const maxBook = 64 << 20

// bookPage is the number of accounts for which the engine asks at once.
const bookPage = 20_000

// BookQuestion asks for the provider's book of settled payments: for all of it where both
// fields are left out.
type BookQuestion struct {
	After string `json:"after,omitempty"` // the Next of the page before
	Limit int    `json:"limit,omitempty"` // largest number of accounts in the answer; 0: all
}

// Book answers a BookQuestion: the sums of the settled movements, in base units. OldestOpen
// is left out if every notice was acknowledged, Next if there is no further page. All pages of
// a book are of one instant, have its At and OldestOpen, and together each institution and
// each account once.
type Book struct {
	At           string        `json:"at"`
	OldestOpen   string        `json:"oldest_open,omitempty"`
	Participants []Participant `json:"participants"`
	Accounts     []Account     `json:"accounts"`
	Next         string        `json:"next,omitempty"`
}

// Sums are the sums of the settled movements of an institution or an account.
type Sums struct {
	Sent       pix.Amount `json:"sent"`
	Received   pix.Amount `json:"received"`
	ReturnedBy pix.Amount `json:"returned_by"`
	ReturnedTo pix.Amount `json:"returned_to"`
	Refused    pix.Amount `json:"refused,omitempty"`
}

// Participant is an institution's part of the book.
type Participant struct {
	ISPB string `json:"ispb"`
	Sums
	Messages uint64 `json:"messages"`
}

// Account is one account's part of the book.
type Account struct {
	AccountID string `json:"account_id"`
	Sums
}

// TellBook returns the message that carries a book.
func TellBook(b scheme.Book) Book {
	m := Book{
		At: b.At.String(), Participants: make([]Participant, 0, len(b.Participants)), Accounts: make([]Account, 0, len(b.Accounts)),
	}
	if b.OldestOpen != 0 {
		m.OldestOpen = b.OldestOpen.String()
	}
	for _, p := range b.Participants {
		m.Participants = append(m.Participants, Participant{p.ISPB, Sums(p.Sums), p.Messages})
	}
	for _, a := range b.Accounts {
		m.Accounts = append(m.Accounts, Account{a.Account.String(), Sums(a.Sums)})
	}
	return m
}

// maxAfter is the largest number of characters in a BookQuestion's After.
const maxAfter = 64

// ReadBookQuestion reads a request to PathBook.
func ReadBookQuestion(body []byte) (q BookQuestion, err error) {
	if err := decode(body, &q, false); err != nil {
		return q, err
	}
	if q.Limit < 0 || utf8.RuneCountInString(q.After) > maxAfter {
		return q, fmt.Errorf("limit must be 0 or more, and after a next of at most %d characters", maxAfter)
	}
	return q, nil
}

// pages are the pages of one book that were read so far.
type pages struct {
	book scheme.Book
	seen map[string]bool
	next string
}

// add adds a page, and refuses what cannot be compared with the engine's accounts: every
// institution and every account must occur once in all pages, no sum may be below zero, and all
// pages must be of one instant.
func (p *pages) add(m *Book) error {
	at, err := instant("at", m.At)
	if err != nil {
		return err
	}
	var open pix.Millis
	if m.OldestOpen != "" {
		if open, err = instant("oldest_open", m.OldestOpen); err != nil {
			return err
		}
	}
	if m.Participants == nil || m.Accounts == nil {
		return errors.New("participants and accounts are required")
	}
	switch b := &p.book; {
	case p.seen == nil:
		p.seen, b.At, b.OldestOpen = map[string]bool{}, at, open
	case b.At != at || b.OldestOpen != open:
		return errors.New("at and oldest_open must be the same in all pages")
	}
	if m.Next != "" && (len(m.Accounts) == 0 || utf8.RuneCountInString(m.Next) > maxAfter) {
		return fmt.Errorf("next must come with accounts, in at most %d characters", maxAfter)
	}
	p.next = m.Next
	return p.addSums(m)
}

func (p *pages) addSums(m *Book) error {
	for _, i := range m.Participants {
		if !pix.ISPB(i.ISPB) || p.seen[i.ISPB] || i.negative() {
			return fmt.Errorf("participant %s must stand once, under 8 digits or capital letters, with sums from 0", redact.Code(i.ISPB))
		}
		p.seen[i.ISPB] = true
		p.book.Participants = append(p.book.Participants, scheme.ParticipantBook{ISPB: i.ISPB, Messages: i.Messages, Sums: scheme.Sums(i.Sums)})
	}
	for _, a := range m.Accounts {
		id, err := parseAccount(a.AccountID)
		if err != nil || p.seen[a.AccountID] || a.negative() {
			return fmt.Errorf("account %s must stand once, under its account_id, with sums from 0", redact.Code(a.AccountID))
		}
		p.seen[a.AccountID] = true
		p.book.Accounts = append(p.book.Accounts, scheme.AccountBook{Account: id, Sums: scheme.Sums(a.Sums)})
	}
	return nil
}

func (s Sums) negative() bool {
	return min(s.Sent, s.Received, s.ReturnedBy, s.ReturnedTo, s.Refused) < 0
}

func instant(name, text string) (pix.Millis, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.UnixMilli() <= 0 {
		return 0, fmt.Errorf("%s must be an ISO 8601 time, such as 2026-01-31T12:00:00Z", name)
	}
	return pix.Millis(t.UnixMilli()), nil
}

// Book implements scheme.Scheme. It reads page by page. A provider that refuses the first page's
// question knows no pages, and is asked for the whole book.
func (p *Provider) Book(ctx context.Context) (scheme.Book, error) {
	var all pages
	for q := (BookQuestion{Limit: p.bookPage}); ; q.After = all.next {
		err := p.page(ctx, q, &all)
		if err != nil {
			return scheme.Book{}, fmt.Errorf("scheme: read the book: %w", err)
		}
		if all.next == "" {
			return all.book, nil
		}
	}
}

// page asks for one page and adds it to those before.
func (p *Provider) page(ctx context.Context, q BookQuestion, all *pages) error {
	ctx, cancel := context.WithTimeout(ctx, p.pageWithin)
	defer cancel()
	status, answer, err := p.client.post(ctx, PathBook, q, maxBook)
	if err == nil && status == http.StatusBadRequest && q.After == "" {
		status, answer, err = p.client.post(ctx, PathBook, BookQuestion{}, maxBook)
	}
	var m Book
	if err == nil {
		err = p.answered(ctx, status, answer, &m, maxBook)
	}
	if err != nil {
		return err
	}
	return all.add(&m)
}
