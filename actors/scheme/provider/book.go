package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/redact"
	"pixd/actors/scheme"
)

// PathBook is the provider's path for reading its book.
const PathBook = "/v1/book/read"

// maxBook is the greatest length in bytes of an answer to a BookQuestion. One account takes
// about a hundred bytes, and all accounts are in one answer, because their sums must be of
// one moment.
const maxBook = 64 << 20

// BookQuestion asks for the provider's book of settled payments.
type BookQuestion struct{}

// Book answers a BookQuestion: the sums of the settled movements, in base units. OldestOpen
// is left out if every notice was acknowledged.
type Book struct {
	At           string        `json:"at"`
	OldestOpen   string        `json:"oldest_open,omitempty"`
	Participants []Participant `json:"participants"`
	Accounts     []Account     `json:"accounts"`
}

// Sums are the sums of the settled movements of an institution or an account.
type Sums struct {
	Sent       ledger.Amount `json:"sent"`
	Received   ledger.Amount `json:"received"`
	ReturnedBy ledger.Amount `json:"returned_by"`
	ReturnedTo ledger.Amount `json:"returned_to"`
	Refused    ledger.Amount `json:"refused,omitempty"`
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

// ReadBookQuestion reads a request to PathBook.
func ReadBookQuestion(body []byte) error { return decode(body, &BookQuestion{}, false) }

// parse reads a book, and refuses a book that cannot be compared with the engine's accounts:
// every institution and every account must occur once, and no sum may be below zero.
func (m *Book) parse() (b scheme.Book, err error) {
	if b.At, err = instant("at", m.At); err != nil {
		return b, err
	}
	if m.OldestOpen != "" {
		if b.OldestOpen, err = instant("oldest_open", m.OldestOpen); err != nil {
			return b, err
		}
	}
	if m.Participants == nil || m.Accounts == nil {
		return b, errors.New("participants and accounts are required")
	}
	seen := map[string]bool{}
	for _, p := range m.Participants {
		if !ledger.ISPB(p.ISPB) || seen[p.ISPB] || p.negative() {
			return b, fmt.Errorf("participant %s must stand once, under 8 digits or capital letters, with sums from 0", redact.Code(p.ISPB))
		}
		seen[p.ISPB] = true
		b.Participants = append(b.Participants, scheme.ParticipantBook{ISPB: p.ISPB, Messages: p.Messages, Sums: scheme.Sums(p.Sums)})
	}
	for _, a := range m.Accounts {
		id, err := parseAccount(a.AccountID)
		if err != nil || seen[a.AccountID] || a.negative() {
			return b, fmt.Errorf("account %s must stand once, under its account_id, with sums from 0", redact.Code(a.AccountID))
		}
		seen[a.AccountID] = true
		b.Accounts = append(b.Accounts, scheme.AccountBook{Account: id, Sums: scheme.Sums(a.Sums)})
	}
	return b, nil
}

func (s Sums) negative() bool {
	return min(s.Sent, s.Received, s.ReturnedBy, s.ReturnedTo, s.Refused) < 0
}

func instant(name, text string) (ledger.Millis, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.UnixMilli() <= 0 {
		return 0, fmt.Errorf("%s must be an ISO 8601 time, such as 2026-01-31T12:00:00Z", name)
	}
	return ledger.Millis(t.UnixMilli()), nil
}

// Book implements scheme.Scheme.
func (p *Provider) Book(ctx context.Context) (scheme.Book, error) {
	var m Book
	err := p.askFor(ctx, PathBook, BookQuestion{}, &m, maxBook)
	var b scheme.Book
	if err == nil {
		b, err = m.parse()
	}
	if err != nil {
		return scheme.Book{}, fmt.Errorf("scheme: read the book: %w", err)
	}
	return b, nil
}
