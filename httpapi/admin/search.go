package admin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// The most that one request for accounts with a text reads: rows of accounts, and records that
// are newer than these rows. A request that meets a bound ends its page there.
const (
	searchedAccounts = 10_000
	searchedRecords  = 100_000
)

// longestSearch is the most characters of a text that is looked for, shortestDocument the fewest
// digits and letters that a document may be found by.
const (
	longestSearch    = 100
	shortestDocument = 3
)

// search is what accounts are looked for by.
type search struct {
	name     string // a part of the name, folded
	document string // the beginning of the document; empty: none is found by it
}

// readSearch reads a text that accounts are looked for by, without spaces around it.
func readSearch(text string) (search, error) {
	if n := utf8.RuneCountInString(text); !utf8.ValidString(text) || n < 1 || n > longestSearch {
		return search{}, control.Bad("search must be 1 to 100 characters")
	}
	w := search{name: folded(text), document: undecorated(text)}
	if len(w.document) < shortestDocument {
		w.document = ""
	}
	if w.name == "" {
		return search{}, control.Bad("search must have a character that is no accent alone")
	}
	return w, nil
}

// matches tells whether settings are what is looked for.
func (w *search) matches(s *ledger.Settings) bool {
	return w.document != "" && strings.HasPrefix(undecorated(s.Document), w.document) || strings.Contains(folded(s.Name), w.name)
}

// folded returns a text without accents and differences of case, so that equal texts are what a
// reader takes for equal.
func folded(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Mn, c) {
			return -1
		}
		return unicode.ToLower(c)
	}, norm.NFKD.String(text))
}

// undecorated returns the digits and the letters A to Z of a document, the letters as capitals.
func undecorated(document string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z':
			return c
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		}
		return -1
	}, document)
}

// searchAccounts is GET /admin/accounts?search=: the account whose id the text is, or that has
// it as a PIX key, alone; else those of which the name or the document has it.
func (s *service) searchAccounts(p control.Page, text string) (int, any, error) {
	text = strings.TrimSpace(text)
	w, err := readSearch(text)
	if err != nil {
		return 0, nil, err
	}
	ids, next := []pix.AccountID{}, -1
	if id, exact := s.named(text); exact {
		ids = append(ids, id)
	} else if ids, next, err = s.found(&w, p); err != nil {
		return 0, nil, err
	}
	return s.listedAll(ids, next)
}

// named returns the account whose id a text is, or that has the PIX key that it is. Eleven
// digits may be two keys: a CPF comes before a phone.
func (s *service) named(text string) (pix.AccountID, bool) {
	if id, ok := pix.ParseAccountID(text); ok && s.Registry.Has(id) {
		return id, true
	}
	for _, t := range []pix.KeyType{pix.KeyCPF, pix.KeyCNPJ, pix.KeyEmail, pix.KeyPhone, pix.KeyEVP} {
		k, ok := pix.ParseKey(t, text)
		if !ok {
			continue
		}
		if id, ours := s.Registry.KeyOwner(k.Value); ours {
			return id, true
		}
	}
	return 0, false
}

// found returns a page of the accounts that are looked for, the oldest first, and the place at
// which the next page begins; -1: there is none. It reads rows and records, and no account
// enters memory for it.
func (s *service) found(w *search, p control.Page) (ids []pix.AccountID, next int, err error) {
	const some = 256
	place, records := p.From, 0
	for {
		all, more := s.Registry.Accounts(place, some)
		for i, id := range all {
			if len(ids) == p.Limit || place-p.From == searchedAccounts || records >= searchedRecords {
				return ids, place, nil
			}
			settings, read, err := s.settingsNow(id)
			if err != nil {
				return nil, -1, err
			}
			if records, place = records+read, place+1; w.matches(settings) {
				ids = append(ids, id)
			}
			if i == len(all)-1 && more < 0 {
				return ids, -1, nil
			}
		}
		if more < 0 {
			return ids, -1, nil
		}
	}
}

// settingsNow reads an account's settings from its rows and records, and says how many records
// it read. Where the account has none yet, or they are damaged, the settings are those from its
// opening.
func (s *service) settingsNow(id pix.AccountID) (*ledger.Settings, int, error) {
	now, read, err := s.Settings(id)
	switch {
	case err != nil:
		return nil, read, err
	case now != nil:
		return now, read, nil
	}
	if a, ok := s.Registry.Account(id); ok && a.Opening != nil {
		return a.Opening, read, nil
	}
	return &ledger.Settings{}, read, nil
}
