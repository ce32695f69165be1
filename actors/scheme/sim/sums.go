package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// The stored sums count the movements up to a mark, and are written together with the mark.
// Movements after the mark are added when the book is read. So no crash loses or doubles a
// movement. The rows are: the mark, one for each account, one for each institution.
const (
	sumsMark    = 'f'
	sumsAccount = 'a'
	sumsISPB    = 'i'
)

// addEvery is the number of movements after the mark from which addUp runs.
const addEvery = 8192

// sums are the sums of an account or an institution, as stored in the book.
type sums struct {
	Sent       pix.Amount `cbor:"1,keyasint,omitempty"`
	Received   pix.Amount `cbor:"2,keyasint,omitempty"`
	ReturnedBy pix.Amount `cbor:"3,keyasint,omitempty"`
	ReturnedTo pix.Amount `cbor:"4,keyasint,omitempty"`
	Messages   uint64     `cbor:"5,keyasint,omitempty"`
	Refused    pix.Amount `cbor:"6,keyasint,omitempty"`
}

// tally holds the sums of a number of movements, by account and by institution.
type tally struct {
	accounts map[pix.AccountID]*sums
	ispbs    map[string]*sums
}

func newTally() *tally { return &tally{map[pix.AccountID]*sums{}, map[string]*sums{}} }

func of[K comparable](m map[K]*sums, k K) *sums {
	if m[k] == nil {
		m[k] = &sums{}
	}
	return m[k]
}

var errTooMuch = errors.New("sim: sums do not fit 63 bits")

// raise adds by to the amount to. It returns an error if the result would wrap around.
func raise(to *pix.Amount, by pix.Amount) error {
	n, ok := to.Add(by)
	if !ok {
		return errTooMuch
	}
	*to = n
	return nil
}

func (t *tally) add(own string, m *movement) error {
	ours, theirs, account := of(t.ispbs, own), of(t.ispbs, m.Other), of(t.accounts, m.Account)
	ours.Messages++
	if ours != theirs {
		theirs.Messages++
	}
	switch m.Kind {
	case MovedPayout:
		return errors.Join(raise(&ours.Sent, m.Amount), raise(&account.Sent, m.Amount), raise(&theirs.Received, m.Amount))
	case MovedPayment:
		return errors.Join(raise(&ours.Received, m.Amount), raise(&account.Received, m.Amount), raise(&theirs.Sent, m.Amount))
	case MovedReturn:
		return errors.Join(raise(&ours.ReturnedTo, m.Amount), raise(&account.ReturnedTo, m.Amount), raise(&theirs.ReturnedBy, m.Amount))
	case MovedRefund:
		return errors.Join(raise(&ours.ReturnedBy, m.Amount), raise(&account.ReturnedBy, m.Amount), raise(&theirs.ReturnedTo, m.Amount))
	case MovedRefused:
		return errors.Join(raise(&ours.Received, -m.Amount), raise(&account.Received, -m.Amount), raise(&theirs.Sent, -m.Amount),
			raise(&ours.Refused, m.Amount), raise(&account.Refused, m.Amount))
	}
	return errors.New("sim: movement of no known kind")
}

func (s *sums) plus(o *sums) error {
	s.Messages += o.Messages
	return errors.Join(raise(&s.Sent, o.Sent), raise(&s.Received, o.Received),
		raise(&s.ReturnedBy, o.ReturnedBy), raise(&s.ReturnedTo, o.ReturnedTo), raise(&s.Refused, o.Refused))
}

func accountKey(a pix.AccountID) []byte {
	return binary.BigEndian.AppendUint64([]byte{rowSums, sumsAccount}, uint64(a))
}

func ispbKey(ispb string) []byte { return append([]byte{rowSums, sumsISPB}, ispb...) }

var markKey = []byte{rowSums, sumsMark}

// behind returns the sums of the movements after the mark s.added, up to the mark here. The
// caller holds the lock adding.
func (s *Sim) behind(here mark) (*tally, error) {
	t := newTally()
	return t, s.eachMovementUpTo(s.added.next(), here, func(_ mark, m *movement) (bool, error) {
		return true, t.add(s.opts.OwnISPB, m)
	})
}

// addUp adds the movements settled before the present millisecond to the stored sums, and
// moves the mark to the end of those movements.
func (s *Sim) addUp() error {
	s.adding.Lock()
	defer s.adding.Unlock()
	s.unadded.Store(0)
	here, err := s.readableMark(s.ctx)
	if err != nil {
		return err
	}
	here = mark{here.At - 1, here.Number} // here.At itself is left out: a movement of that millisecond can still be booked
	if !here.after(s.added) {
		return nil
	}
	t, err := s.behind(here)
	if err != nil {
		return err
	}
	var ops []wal.Op
	for _, a := range slices.Sorted(maps.Keys(t.accounts)) {
		if ops, err = s.raisedSumsRow(ops, accountKey(a), t.accounts[a]); err != nil {
			return err
		}
	}
	for _, i := range slices.Sorted(maps.Keys(t.ispbs)) {
		if ops, err = s.raisedSumsRow(ops, ispbKey(i), t.ispbs[i]); err != nil {
			return err
		}
	}
	if err := <-s.append(append(ops, set(markKey, here)), nil); err != nil {
		return err
	}
	s.added = here
	return nil
}

// raisedSumsRow appends to ops the row of sums at key k, increased by by.
func (s *Sim) raisedSumsRow(ops []wal.Op, k []byte, by *sums) ([]wal.Op, error) {
	var row sums
	if _, err := read(s.store, k, &row); err != nil {
		return nil, err
	}
	if err := row.plus(by); err != nil {
		return nil, err
	}
	return append(ops, set(k, &row)), nil
}

// addUpLater starts addUp in a goroutine of its own, if enough movements came after the mark
// and addUp is not running yet.
func (s *Sim) addUpLater() {
	if s.unadded.Load() < addEvery || !s.counting.CompareAndSwap(false, true) {
		return
	}
	s.work.Go(func() {
		defer s.counting.Store(false)
		if err := s.addUp(); err != nil && s.ctx.Err() == nil {
			s.opts.Log.Error("simulator: movements not added up: reading the book takes longer", "error", err)
		}
	})
}

// Book implements scheme.Scheme: it returns the sums of everything that has settled, in the
// order of the institutions' ISPBs and the accounts' numbers. It costs the commit of one
// entry, reading the rows of the answer, and reading at most some thousands of movements: in a
// book that is only read, as many as no process has added up.
func (s *Sim) Book(ctx context.Context) (scheme.Book, error) {
	if s.unadded.Load() >= addEvery && !s.opts.ReadOnly {
		if err := s.addUp(); err != nil {
			return scheme.Book{}, err
		}
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	here, err := s.readableMark(ctx)
	if err != nil {
		return scheme.Book{}, err
	}
	t, err := s.behind(here)
	if err != nil {
		return scheme.Book{}, err
	}
	if err := s.addRows(t); err != nil {
		return scheme.Book{}, err
	}
	oldest, err := s.oldestOpen(here.At)
	if err != nil {
		return scheme.Book{}, err
	}
	return t.book(here.At, oldest), nil
}

// addRows adds to t the stored sums, which count the movements up to the mark.
func (s *Sim) addRows(t *tally) error {
	return s.store.Scan([]byte{rowSums, sumsAccount}, []byte{rowSums, sumsISPB + 1}, func(k, v []byte) (bool, error) {
		var row sums
		var to *sums
		switch {
		case k[1] == sumsAccount && len(k) == 10:
			to = of(t.accounts, pix.AccountID(binary.BigEndian.Uint64(k[2:])))
		case k[1] == sumsISPB:
			to = of(t.ispbs, string(k[2:]))
		default: // the row of the mark itself, which has no sums
			return true, nil
		}
		return true, errors.Join(decode(k, v, &row), to.plus(&row))
	})
}

func (t *tally) book(at, oldest pix.Millis) scheme.Book {
	b := scheme.Book{At: at, OldestOpen: oldest}
	for _, i := range slices.Sorted(maps.Keys(t.ispbs)) {
		b.Participants = append(b.Participants, scheme.ParticipantBook{ISPB: i, Messages: t.ispbs[i].Messages, Sums: t.ispbs[i].reported()})
	}
	for _, a := range slices.Sorted(maps.Keys(t.accounts)) {
		b.Accounts = append(b.Accounts, scheme.AccountBook{Account: a, Sums: t.accounts[a].reported()})
	}
	return b
}

func (s *sums) reported() scheme.Sums {
	return scheme.Sums{Sent: s.Sent, Received: s.Received, ReturnedBy: s.ReturnedBy, ReturnedTo: s.ReturnedTo, Refused: s.Refused}
}

// oldestOpen returns the due time of the oldest notice about money that is due and not
// acknowledged; 0: there is none. It searches from where the last search ended, because new
// notices are never due before that time, and skipping deleted rows costs time. The caller
// holds the lock adding.
func (s *Sim) oldestOpen(now pix.Millis) (oldest pix.Millis, err error) {
	err = s.store.Scan(openKey(s.openFrom, nil), openKey(now+1, nil), func(k, v []byte) (bool, error) {
		if len(v) == 1 && (v[0] == rowInfraction || v[0] == cancelled) {
			return true, nil
		}
		oldest = openInstant(k)
		return false, nil
	})
	if err != nil {
		return 0, err
	}
	s.openFrom = oldest
	if oldest == 0 {
		s.openFrom = now
	}
	return oldest, nil
}
