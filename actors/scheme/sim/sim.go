package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Options are what a simulator is made of.
type Options struct {
	Dir         string
	FS          wal.FS        // nil: the disk
	SettleDelay time.Duration // from submission to settlement; 0 settles inside the submit call
	Now         func() ledger.Millis
	Chance      func() [10]byte
	OnFailure   func(error)
	Log         *slog.Logger
}

// Sim is the scheme and everyone behind it.
type Sim struct {
	opts  Options
	store *wal.Store

	mu      sync.Mutex
	holders map[string]ledger.TxID // end-to-end ids whose row is not durable yet
	keys    map[string]keyRow      // keys whose row is not durable yet

	ids    *keyed.Filter // every end-to-end id in the book, once it was filled
	out    *deliverer
	stop   context.CancelFunc
	filled sync.WaitGroup
}

// idFilter is its size, in bytes: good for six million ids.
const idFilter = 8 << 20

var _ scheme.Scheme = (*Sim)(nil)

// bookFormat names the book, so that it is never taken for an engine's journal.
const bookFormat = "pixd-sim-1"

// Open opens the book, or makes it. Nothing is delivered before Start.
func Open(o Options) (*Sim, error) {
	store, err := wal.Open(wal.Options{
		Dir: o.Dir, FS: o.FS, Hard: map[string]string{"book": bookFormat}, OnFailure: o.OnFailure, Log: o.Log,
		CacheBytes: 16 << 20, MemTableBytes: 32 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Sim{
		opts: o, store: store, holders: map[string]ledger.TxID{}, keys: map[string]keyRow{},
		ids: keyed.NewFilter(idFilter), stop: stop,
	}
	s.filled.Go(func() { s.fill(ctx) })
	s.out = newDeliverer(s)
	return s, nil
}

// fill tells the filter every end-to-end id in the book; ids that come meanwhile
// are told by take and book.
func (s *Sim) fill(ctx context.Context) {
	err := s.store.Scan([]byte{rowHolder}, []byte{rowHolder + 1}, func(k, _ []byte) (bool, error) {
		s.ids.Add(k)
		return ctx.Err() == nil, nil
	})
	if err != nil {
		s.opts.Log.Error("simulator: filter not filled: every payment asks the book", "error", err)
	} else if ctx.Err() == nil {
		s.ids.Ready()
	}
}

// hold notes whose an end-to-end id is, while its row is on its way to the
// book. The caller holds mu.
func (s *Sim) hold(endToEnd string, tx ledger.TxID) {
	s.holders[endToEnd] = tx
	s.ids.Add(key(rowHolder, endToEnd))
}

// Start delivers to the feed what is due, beginning with what an earlier
// process left unacknowledged.
func (s *Sim) Start(feed scheme.Feed) error { return s.out.start(feed) }

// Close stops delivering and closes the book.
func (s *Sim) Close() error {
	s.out.close()
	s.stop()
	s.filled.Wait()
	return s.store.Close()
}

// durable is told that an entry is on disk. What follows from that happens
// whether or not anyone still waits.
type durable struct {
	done chan error
	then func()
}

// Release implements wal.Out.
func (d durable) Release(err error) {
	if err == nil && d.then != nil {
		d.then()
	}
	d.done <- err
}

// append queues an entry. The result yields once, when it is durable.
func (s *Sim) append(ops []wal.Op, then func()) <-chan error {
	d := durable{make(chan error, 1), then}
	s.store.Append(&wal.Entry{Ops: ops, Out: []wal.Out{d}})
	return d.done
}

func wait(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RegisterKey makes a key of the engine's known to customers.
func (s *Sim) RegisterKey(ctx context.Context, k ledger.Key, a ledger.AccountID) error {
	row := keyRow{Account: a, Type: k.Type}
	if known, ok, err := s.key(k.Value); err != nil || ok && known == row {
		return err
	}
	s.mu.Lock()
	s.keys[k.Value] = row
	s.mu.Unlock()
	return wait(ctx, s.append([]wal.Op{set(key(rowKey, k.Value), row)}, func() {
		s.mu.Lock()
		delete(s.keys, k.Value)
		s.mu.Unlock()
	}))
}

func (s *Sim) key(k string) (keyRow, bool, error) {
	s.mu.Lock()
	row, ok := s.keys[k]
	s.mu.Unlock()
	if ok {
		return row, true, nil
	}
	ok, err := read(s.store, key(rowKey, k), &row)
	return row, ok, err
}

// Lookup is the directory.
func (s *Sim) Lookup(_ context.Context, q scheme.Query) (ledger.Owner, error) {
	o := script(q.Key)
	if o.lookup != ledger.RefuseNothing {
		return ledger.Owner{}, &scheme.Refused{Code: o.lookup}
	}
	return owner(q.Key, o), nil
}

// Submit takes a payment, and settles it after the delay unless its key's
// script says otherwise. The same again answers what the first did; the same
// end-to-end id under another transaction is rejected with DUPL.
func (s *Sim) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	o := script(p.Key)
	if o.submit != ledger.RefuseNothing {
		return scheme.State{}, &scheme.Refused{Code: o.submit}
	}
	row := s.decide(p, o)
	done, again, err := s.take(&row)
	if err != nil {
		return scheme.State{}, err
	}
	if err := wait(ctx, done); err != nil {
		return scheme.State{}, err
	}
	if again {
		state, _, err := s.known(p.Tx)
		return state, err
	}
	return s.state(&row), nil
}

// idLife is how far an end-to-end id's minute may be from the scheme's clock.
// Source: SPI catalogue, FF08.
const idLife = 12 * time.Hour

// decide is what becomes of a payment that is new to the book.
func (s *Sim) decide(p scheme.Payment, o outcome) payment {
	now := s.opts.Now()
	row := payment{
		Tx: p.Tx, Account: p.Account, EndToEnd: p.EndToEnd, Amount: p.Amount, Key: p.Key.Value,
		At: now, DueAt: now + ledger.Millis(s.opts.SettleDelay/time.Millisecond), Reason: o.reason,
	}
	if o.now {
		row.DueAt = now
	}
	if !ledger.ValidEndToEnd(p.EndToEnd) {
		row.Reason = "FF08"
	} else if minute, _ := time.Parse("200601021504", p.EndToEnd[9:21]); now.Time().Sub(minute).Abs() > idLife {
		row.Reason = "FF08"
	}
	return row
}

// take writes a payment down; again where the book has it already, or will have
// once the result yields. What settles at once needs no notice: the answer to
// the submit says it, and Ask says it again.
func (s *Sim) take(row *payment) (done <-chan error, again bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	holder, held, err := s.holder(row.EndToEnd)
	if err != nil {
		return nil, false, err
	}
	again = held && holder == row.Tx
	if held && !again {
		row.Reason = "DUPL"
		if _, again, err = s.known(row.Tx); err != nil {
			return nil, false, err
		}
	}
	if again {
		return s.append(nil, nil), true, nil
	}
	ops := make([]wal.Op, 0, 3)
	if !held {
		s.hold(row.EndToEnd, row.Tx)
		ops = append(ops, wal.Op{Kind: wal.OpSet, Key: key(rowHolder, row.EndToEnd), Value: row.Tx[:]})
	}
	ops = append(ops, set(key(rowPayment, string(row.Tx[:])), row))
	if !row.immediate() {
		ops = append(ops, wal.Op{Kind: wal.OpSet, Key: openKey(row.DueAt, row.Tx[:]), Value: []byte{rowPayment}})
	}
	return s.append(ops, func() { s.taken(row) }), false, nil
}

func (p *payment) immediate() bool { return p.DueAt == p.At && p.Reason == "" }

// taken follows a payment's durability: its row answers for it now.
func (s *Sim) taken(row *payment) {
	s.mu.Lock()
	if s.holders[row.EndToEnd] == row.Tx {
		delete(s.holders, row.EndToEnd)
	}
	s.mu.Unlock()
	if !row.immediate() {
		s.out.add(item{at: row.DueAt, key: openKey(row.DueAt, row.Tx[:]), notice: row.notice()})
	}
}

// holder is the payment that has an end-to-end id. The caller holds mu.
func (s *Sim) holder(endToEnd string) (ledger.TxID, bool, error) {
	if tx, ok := s.holders[endToEnd]; ok {
		return tx, true, nil
	}
	k := key(rowHolder, endToEnd)
	if !s.ids.MayHave(k) {
		return ledger.TxID{}, false, nil
	}
	b, ok, err := s.store.Get(k)
	if err != nil || !ok {
		return ledger.TxID{}, false, err
	}
	if len(b) != 16 {
		return ledger.TxID{}, false, errors.New("sim: holder row is not a transaction id")
	}
	return ledger.TxID(b), true, nil
}

// Ask tells what the scheme knows of a payment.
func (s *Sim) Ask(_ context.Context, tx ledger.TxID, _ string) (scheme.State, error) {
	state, _, err := s.known(tx)
	return state, err
}

func (s *Sim) known(tx ledger.TxID) (scheme.State, bool, error) {
	var p payment
	ok, err := read(s.store, key(rowPayment, string(tx[:])), &p)
	if err != nil || !ok {
		return scheme.State{}, false, err
	}
	return s.state(&p), true, nil
}

func (s *Sim) state(p *payment) scheme.State {
	switch {
	case s.opts.Now() < p.DueAt:
		return scheme.State{Progress: scheme.Pending}
	case p.Reason != "":
		return scheme.State{Progress: scheme.Rejected, Reason: p.Reason}
	}
	return scheme.State{Progress: scheme.Settled}
}

func (p *payment) notice() scheme.Notice {
	n := scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.Tx, EndToEnd: p.EndToEnd}
	if p.Reason != "" {
		n.Kind, n.Reason = scheme.PaymentRejected, p.Reason
	}
	return n
}
