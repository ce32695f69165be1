package webhook

import (
	"sync"

	"pixd/actors/pix"
)

const (
	maxLookups        = 32 // names that Check resolves at once; each takes a few file descriptors
	maxAccountLookups = 2  // of these, for one account, so that no account delays the others
)

// lookups counts the names that Check is resolving. Its zero value is ready for use.
type lookups struct {
	mu   sync.Mutex
	open int
	of   map[pix.AccountID]int // without the accounts that resolve none

	refused uint64
}

// Lookups returns how many names Check is resolving, and how often there was no place for one more.
func (t *Targets) Lookups() (open int, refused uint64) {
	t.checks.mu.Lock()
	defer t.checks.mu.Unlock()
	return t.checks.open, t.checks.refused
}

// enter takes a place for an account; leave gives it back. enter returns false where there is
// no place left, or none for this account.
func (l *lookups) enter(id pix.AccountID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == maxLookups || l.of[id] == maxAccountLookups {
		l.refused++
		return false
	}
	if l.of == nil {
		l.of = map[pix.AccountID]int{}
	}
	l.open++
	l.of[id]++
	return true
}

func (l *lookups) leave(id pix.AccountID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.of[id]--; l.of[id] == 0 {
		delete(l.of, id)
	}
}
