package due

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
)

// shelf is rows in order; accepted are the payouts with an open row.
type shelf []struct{ k, v []byte }

var accepted = map[string]bool{}

func (s shelf) Get(key []byte) ([]byte, bool, error) { return nil, accepted[string(key)], nil }

func (s *shelf) put(at ledger.Millis, a ledger.AccountID, tx byte, kind byte) {
	v := binary.BigEndian.AppendUint64([]byte{kind}, uint64(tx)+100)
	*s = append(*s, struct{ k, v []byte }{ledger.DueKey(at, a, ledger.TxID{tx}), v})
}

var errDisk = errors.New("disk")

func (s shelf) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	for _, row := range s {
		if string(row.k) < string(lo) || string(row.k) >= string(hi) {
			continue
		}
		if more, err := fn(row.k, row.v); err != nil || !more {
			return err
		}
	}
	return nil
}

// started notes who was started.
type started struct {
	mu  sync.Mutex
	who []string
}

func (s *started) start(a ledger.AccountID, tx ledger.TxID, seq uint64, done func(error)) {
	s.mu.Lock()
	s.who = append(s.who, fmt.Sprintf("%d/%d@%d", a, tx[0], seq))
	s.mu.Unlock()
	go done(nil)
}

// TestResume: whatever is held, whenever it is due, in order; other work and
// accepted payouts are left alone.
func TestResume(t *testing.T) {
	var s shelf
	s.put(0, 1, 1, ledger.DuePayout)
	s.put(1499, 1, 2, ledger.DuePayout)
	s.put(1500, 2, 3, ledger.DuePayout)
	s.put(1500, 2, 4, 7) // other work
	s.put(1500, 3, 5, ledger.DuePayout)
	s.put(1<<60, 1, 6, ledger.DuePayout)
	s = append(s, struct{ k, v []byte }{[]byte("e"), []byte("another row")})
	accepted = map[string]bool{string(ledger.OpenKey(1, ledger.TxID{2})): true, string(ledger.OpenKey(2, ledger.TxID{5})): true}
	defer func() { accepted = map[string]bool{} }()
	var w started
	n, err := Resume(s, w.start)
	if got := strings.Join(w.who, " "); got != "1/1@101 2/3@103 3/5@105 1/6@106" || err != nil || n != 4 {
		t.Errorf("%q, counted %d, %v", got, n, err)
	}
}

// TestResumeFails: rows that cannot be read stop the pass; payouts that cannot
// be started do not, and are all told.
func TestResumeFails(t *testing.T) {
	var s shelf
	s.put(1, 1, 1, ledger.DuePayout)
	s.put(2, 1, 2, ledger.DuePayout)
	n, err := Resume(s, func(_ ledger.AccountID, tx ledger.TxID, _ uint64, done func(error)) {
		done(fmt.Errorf("payout %d: %w", tx[0], errDisk))
	})
	if n != 2 || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "payout 1") || !strings.Contains(err.Error(), "payout 2") {
		t.Errorf("looked at %d, %v", n, err)
	}
	for name, spoil := range map[string]func(s shelf){
		"a key":   func(s shelf) { s[0].k = s[0].k[:20] },
		"a value": func(s shelf) { s[0].v = s[0].v[:5] },
	} {
		spoiled := slices.Clone(s)
		spoil(spoiled)
		var w started
		if n, err := Resume(spoiled, w.start); err == nil || n != 0 || len(w.who) != 0 {
			t.Errorf("%s cut short: looked at %d, %v", name, n, err)
		}
	}
}

// TestResumeTakesTurns: at most so many at a time, and it returns once every
// one has answered.
func TestResumeTakesTurns(t *testing.T) {
	var s shelf
	for n := range 3 * atOnce {
		s.put(ledger.Millis(n), 1, byte(n), ledger.DuePayout)
	}
	var now, most, answered atomic.Int64
	n, err := Resume(s, func(_ ledger.AccountID, _ ledger.TxID, _ uint64, done func(error)) {
		most.Store(max(most.Load(), now.Add(1)))
		go func() {
			time.Sleep(2 * time.Millisecond)
			now.Add(-1)
			answered.Add(1)
			done(nil)
		}()
	})
	if err != nil || n != 3*atOnce || answered.Load() != int64(n) || most.Load() > atOnce || most.Load() < atOnce/2 {
		t.Errorf("looked at %d, %d answered, %d at once, %v", n, answered.Load(), most.Load(), err)
	}
}
