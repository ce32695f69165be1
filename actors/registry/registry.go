package registry

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Stream is the number of the registry's stream in the journal.
const Stream wal.Stream = 0

// Journal is the part of the journal that the registry uses.
type Journal interface {
	wal.Journal
	wal.Tail
}

// Registry is the shell around Machine. A method that changes something returns once the
// change is durable and visible to every reader.
type Registry struct {
	journal Journal
	now     func() pix.Millis

	mu      sync.Mutex // guards machine and sum; locked while a change is decided, but not while its entry is synced
	machine *Machine
	sum     uint64
	behind  atomic.Bool // the journal refused an entry, so the machine has changes that the journal lacks

	ids      reserver
	reserved *keyed.Filter // filter over the rows of all reservations

	// The entries that readers see. They are set only once they are durable.
	accounts keyed.Map[pix.AccountID, *Account]
	apiKeys  keyed.Map[string, *APIKey]
	pixKeys  keyed.Map[string, *PixKey]
	removals keyed.Map[string, *PixKey]
	order    atomic.Pointer[[]pix.AccountID]
}

// Decode decodes a record of the registry's stream.
func Decode(w *wal.Record) (*Record, error) {
	r := &Record{Kind: RecordKind(w.Kind), Seq: w.Seq, Time: pix.Millis(w.Time)}
	return r, r.Decode(w.Body)
}

// Open rebuilds the registry from its stream.
func Open(j Journal, now func() pix.Millis) (*Registry, error) {
	g := &Registry{journal: j, now: now, machine: NewMachine(), reserved: keyed.NewFilter(reservationFilter)}
	err := j.Read(Stream, 1, 0, func(w wal.Record) error {
		r, err := Decode(&w)
		if err != nil {
			return err
		}
		g.sum = w.Sum
		return g.machine.Apply(r)
	})
	if err == nil {
		err = g.ids.readNewest(j)
	}
	if err != nil {
		return nil, fmt.Errorf("registry: replay: %w", err)
	}
	for id, a := range g.machine.accounts {
		g.accounts.Set(id, a)
	}
	for id, k := range g.machine.apiKeys {
		g.apiKeys.Set(id, k)
	}
	for key, k := range g.machine.pixKeys {
		g.pixKeys.Set(key, k)
	}
	for key, k := range g.machine.removals {
		g.removals.Set(key, k)
	}
	g.publishOrder()
	return g, nil
}

// publishOrder publishes the list of account ids. The list only grows, so a reader of an
// older slice still sees the same ids.
func (g *Registry) publishOrder() {
	order := g.machine.order[:len(g.machine.order):len(g.machine.order)]
	g.order.Store(&order)
}

// errBehind says that the journal refused an entry, so that the machine has changes that
// the journal lacks. Only a restart of the engine can rebuild the machine.
var errBehind = errors.New("registry: is ahead of the journal; the engine must be started again")

// change makes a change: it calls decide, journals the records, and returns once they are
// durable.
func (g *Registry) change(decide func(*Machine, pix.Millis) ([]Record, error)) error {
	p, refused := g.submit(decide)
	if err := <-p.done; err != nil {
		if p.registry != nil {
			g.behind.Store(true)
		}
		return fmt.Errorf("registry: write: %w", err)
	}
	return refused
}

// submit calls decide under the lock and queues the entry. If there are no records, an
// empty entry is queued all the same, because the decision may depend on records that are
// not durable yet.
func (g *Registry) submit(decide func(*Machine, pix.Millis) ([]Record, error)) (*publication, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &publication{done: make(chan error, 1)}
	if g.behind.Load() {
		p.done <- errBehind
		return p, nil
	}
	now := max(g.now(), g.machine.Time)
	records, err := decide(g.machine, now)
	if err != nil || len(records) == 0 {
		g.journal.Append(&wal.Entry{Stream: Stream, Out: []wal.Out{p}})
		return p, err
	}
	p.registry = g
	e := &wal.Entry{Stream: Stream, Expect: g.machine.Seq, Out: []wal.Out{p}}
	for i := range records {
		r := &records[i]
		r.Seq, r.Time = g.machine.Seq+1, now
		e.Records = append(e.Records, applied(Stream, g.machine, &g.sum, r))
		p.publish(g.machine, r)
	}
	p.order = g.machine.order[:len(g.machine.order):len(g.machine.order)]
	g.journal.Append(e)
	return p, nil
}

// applied applies the next record of a stream to the stream's machine and seals the record after
// the one before it, which had *sum. A record that cannot be applied is a bug and panics.
func applied(stream wal.Stream, machine interface{ Apply(*Record) error }, sum *uint64, r *Record) wal.Sealed {
	s := wal.Seal(*sum, wal.Record{Stream: stream, Seq: r.Seq, Kind: uint8(r.Kind), Time: int64(r.Time), Body: r.Encode()})
	if err := machine.Apply(r); err != nil {
		panic(err)
	}
	*sum = s.Sum
	return s
}

// publication has the entries of one change. It waits until they are durable, and then
// publishes them to readers.
type publication struct {
	registry *Registry
	accounts []*Account
	apiKeys  []*APIKey
	pixKeys  []*PixKey
	removed  []*PixKey // keys that were removed
	open     []*PixKey // removals of which the scheme is to be told
	heard    []*PixKey // removals of which the scheme has heard
	order    []pix.AccountID
	done     chan error
}

func (p *publication) publish(m *Machine, r *Record) {
	switch {
	case r.Account != nil:
		p.accounts = append(p.accounts, m.accounts[r.Account.ID])
	case r.APIKey != nil:
		p.apiKeys = append(p.apiKeys, r.APIKey)
		p.accounts = append(p.accounts, m.accounts[r.APIKey.Account])
	case r.Kind == PixKeyRemoved:
		p.removed, p.open = append(p.removed, r.PixKey), append(p.open, m.removals[r.PixKey.Key])
		p.accounts = append(p.accounts, m.accounts[r.PixKey.Account])
	case r.Kind == PixKeyUnlisted:
		p.heard = append(p.heard, r.PixKey)
	case r.PixKey != nil:
		p.pixKeys = append(p.pixKeys, r.PixKey)
		p.accounts = append(p.accounts, m.accounts[r.PixKey.Account])
	}
}

// Release publishes the entries. The journal releases entries in order, so an older entry
// of an account or key never replaces a newer one.
func (p *publication) Release(err error) {
	if g := p.registry; g != nil && err == nil {
		for _, k := range p.apiKeys {
			g.apiKeys.Set(k.ClientID, k)
		}
		for _, k := range p.pixKeys {
			g.pixKeys.Set(k.Key, k)
		}
		for _, a := range p.accounts { // an account is published after the keys that it lists, so that a reader finds them
			g.accounts.Set(a.ID, a)
		}
		g.publishRemovals(p)
		g.order.Store(&p.order)
	}
	p.done <- err
}

// publishRemovals publishes the removals of a change. A removal is open before its key
// disappears, so that nobody who finds the key reserved anew misses the removal before it.
func (g *Registry) publishRemovals(p *publication) {
	for _, k := range p.open {
		g.removals.Set(k.Key, k)
	}
	for _, k := range p.removed {
		g.pixKeys.Delete(k.Key)
	}
	for _, k := range p.heard {
		g.removals.Delete(k.Key)
	}
}

// RegisterAccount adds an account with its first PIX key.
func (g *Registry) RegisterAccount(id pix.AccountID, active bool, opening ledger.Settings, evp pix.Key) (*Account, error) {
	err := g.change(func(m *Machine, now pix.Millis) ([]Record, error) {
		a := Account{ID: id, Active: active, CreatedAt: now, Opening: &opening}
		return m.RegisterAccount(a, PixKey{Key: evp.Value, Type: evp.Type, Account: id, CreatedAt: now})
	})
	if err != nil {
		return nil, err
	}
	a, _ := g.Account(id)
	return a, nil
}

// SetActive makes an account active or inactive.
func (g *Registry) SetActive(id pix.AccountID, active bool) error {
	return g.change(func(m *Machine, _ pix.Millis) ([]Record, error) { return m.SetActive(id, active) })
}

// MakeAPIKey adds an API key. The caller sets ClientID, Account, SecretHash, Permissions,
// Whitelist, ExpiresAt and Signing.
func (g *Registry) MakeAPIKey(k APIKey) (*APIKey, error) {
	err := g.change(func(m *Machine, now pix.Millis) ([]Record, error) {
		k.Active, k.CreatedAt = true, now
		return m.MakeAPIKey(k)
	})
	if err != nil {
		return nil, err
	}
	made, _ := g.APIKey(k.ClientID)
	return made, nil
}

// ChangeAPIKey replaces the entry of an API key by a copy that edit has changed.
func (g *Registry) ChangeAPIKey(clientID string, edit func(*APIKey)) (*APIKey, error) {
	err := g.change(func(m *Machine, _ pix.Millis) ([]Record, error) { return m.ChangeAPIKey(clientID, edit) })
	if err != nil {
		return nil, err
	}
	k, _ := g.APIKey(clientID)
	return k, nil
}

// Account finds an account by id. The entry must not be changed.
func (g *Registry) Account(id pix.AccountID) (*Account, bool) {
	return g.accounts.Get(id)
}

// Has reports whether an account exists.
func (g *Registry) Has(id pix.AccountID) bool {
	_, ok := g.Account(id)
	return ok
}

// Opening returns the settings with which an account is opened, when it gets its first record;
// false where the registry has none: the account does not exist, or an older version made it.
func (g *Registry) Opening(id pix.AccountID) (ledger.Settings, bool) {
	a, ok := g.Account(id)
	if !ok || a.Opening == nil {
		return ledger.Settings{}, false
	}
	return *a.Opening, true
}

// Active reports whether an account exists and is active.
func (g *Registry) Active(id pix.AccountID) bool {
	a, ok := g.Account(id)
	return ok && a.Active
}

// APIKey finds an API key by client id. The entry must not be changed.
func (g *Registry) APIKey(clientID string) (*APIKey, bool) {
	return g.apiKeys.Get(clientID)
}

// Accounts lists at most limit account ids in the order of their registration, beginning at
// index from. The second result is the index for the next call, or -1 at the end of the
// list.
func (g *Registry) Accounts(from, limit int) ([]pix.AccountID, int) {
	order := *g.order.Load()
	from = min(max(from, 0), len(order))
	to := min(from+limit, len(order))
	next := to
	if to == len(order) {
		next = -1
	}
	return slices.Clone(order[from:to]), next
}
