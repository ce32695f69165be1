package registry

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"pixd/actors/cbormap"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// DeskJournal is the part of the journal that Operators uses.
type DeskJournal interface {
	wal.Journal
	layout.Rows
	Last(stream wal.Stream) (seq, sum uint64, err error)
}

// Operators is the shell around Desk: operators with names, what they did, and first approvals.
type Operators struct {
	journal DeskJournal
	now     func() pix.Millis

	mu     sync.Mutex // guards desk and sum; not locked while an entry is synced
	desk   *Desk
	sum    uint64
	behind atomic.Bool // the journal refused an entry, so desk has changes that the journal lacks

	published sync.Map // name to *Operator, once durable
	tokens    sync.Map // SHA-256 of a token, valid or not, to the name that it was made for, once durable
	approvals sync.Map // payout's id to *FirstApproval, once durable
}

// OpenOperators reads the operators and first approvals from their rows. A first approval from until restored, the
// instant at which a restored journal was taken into use last, does not count: whoever gave it did not know what
// the journal lacks.
func OpenOperators(j DeskJournal, now func() pix.Millis, restored pix.Millis) (*Operators, error) {
	s := &Operators{journal: j, now: now, desk: NewDesk()}
	var err error
	if s.desk.Seq, s.sum, err = j.Last(OperatorStream); err != nil {
		return nil, fmt.Errorf("registry: operators: %w", err)
	}
	all, err := OperatorsNow(j)
	if err != nil {
		return nil, fmt.Errorf("registry: operators: %w", err)
	}
	for _, o := range all {
		s.desk.operators[o.Name] = o
		s.publish(o)
	}
	approvals, err := readAll[FirstApproval](j, rowApproval)
	if err != nil {
		return nil, fmt.Errorf("registry: first approvals: %w", err)
	}
	for _, a := range approvals {
		if a.At <= restored {
			continue
		}
		s.desk.approvals[a.Payout] = a
		s.approvals.Store(a.Payout, a)
	}
	return s, nil
}

// written waits for one record, or for what a decision without a record depends on.
type written struct {
	of     *Operators
	record *Record
	done   chan error
}

// Release implements wal.Out.
func (w *written) Release(err error) {
	switch {
	case w.record == nil:
	case err != nil:
		w.of.behind.Store(true)
	case w.record.Operator != nil:
		w.of.publish(w.record.Operator)
	case w.record.Kind == FirstApproved:
		w.of.approvals.Store(w.record.Approval.Payout, w.record.Approval)
	case w.record.Kind == FirstApprovalOver:
		w.of.approvals.Delete(w.record.Approval.Payout)
	}
	w.done <- err
}

// submit calls decide under the lock and queues its record. The entry is queued without a record too,
// because the decision may depend on records that are not durable yet.
func (s *Operators) submit(decide func(d *Desk, now pix.Millis) (*Record, error)) (*written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &written{of: s, done: make(chan error, 1)}
	if s.behind.Load() {
		w.done <- errBehind
		return w, nil
	}
	now := max(s.now(), s.desk.Time)
	r, err := decide(s.desk, now)
	e := &wal.Entry{Stream: OperatorStream, Out: []wal.Out{w}}
	if err == nil && r != nil {
		r.Seq, r.Time = s.desk.Seq+1, now
		e.Expect, w.record = s.desk.Seq, r
		e.Records = append(e.Records, applied(OperatorStream, s.desk, &s.sum, r))
		for _, row := range Project(r) {
			op := wal.Op{Kind: wal.OpSet, Key: row.Key, Value: row.Value}
			if row.Value == nil {
				op.Kind = wal.OpDelete
			}
			e.Ops = append(e.Ops, op)
		}
	}
	s.journal.Append(e)
	return w, err
}

// change makes a change and returns once it is durable.
func (s *Operators) change(decide func(d *Desk, now pix.Millis) (*Record, error)) error {
	w, refused := s.submit(decide)
	if err := <-w.done; err != nil {
		return fmt.Errorf("registry: write: %w", err)
	}
	return refused
}

// Add adds an operator who has the token, or gives one who was revoked a new token and role.
// ErrExists: there is an operator of that name. ErrManyOperator: there are too many.
func (s *Operators) Add(name string, role Role, token string) (*Operator, error) {
	o := Operator{Name: name, Role: role, TokenHash: sha256.Sum256([]byte(token))}
	err := s.change(func(d *Desk, now pix.Millis) (*Record, error) {
		o.CreatedAt = now
		return d.Add(o)
	})
	return &o, err
}

// Revoke makes an operator's token invalid. ErrNoOperator: there is none of that name.
func (s *Operators) Revoke(name string) (*Operator, error) {
	err := s.change(func(d *Desk, now pix.Millis) (*Record, error) { return d.Revoke(name, now) })
	if err != nil {
		return nil, err
	}
	o, _ := s.published.Load(name)
	return o.(*Operator), nil
}

// All lists the operators in the order of their names, with those who were revoked.
func (s *Operators) All() (all []*Operator) {
	s.published.Range(func(_, o any) bool {
		all = append(all, o.(*Operator))
		return true
	})
	slices.SortFunc(all, func(a, b *Operator) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// WithToken returns the operator who has a token; nil: nobody has it, or it was revoked.
func (s *Operators) WithToken(token string) *Operator {
	hash := sha256.Sum256([]byte(token))
	name, ok := s.tokens.Load(hash)
	if !ok {
		return nil
	}
	if o, _ := s.published.Load(name); o.(*Operator).has(hash) {
		return o.(*Operator)
	}
	return nil
}

// has reports whether a hash is that of the operator's token, and the token is valid. How long the comparison of two
// hashes takes tells nothing about a token.
func (o *Operator) has(hash [sha256.Size]byte) bool { return o.TokenHash == hash && o.RevokedAt == 0 }

// publish shows an operator to readers.
func (s *Operators) publish(o *Operator) {
	s.published.Store(o.Name, o)
	s.tokens.Store(o.TokenHash, o.Name)
}

// WithToken returns that one of the operators who has a token; nil: none has it, or it was revoked.
func WithToken(all []*Operator, token string) *Operator {
	hash := sha256.Sum256([]byte(token))
	for _, o := range all {
		if o.has(hash) {
			return o
		}
	}
	return nil
}

// longestBody and longestPath are how many bytes of a request are kept with an action; an ellipsis follows what was cut.
const (
	longestBody = 4096
	longestPath = 1024
)

// Begin records what an operator asks for, and returns it with its number and time once the record is durable.
func (s *Operators) Begin(a Action) (Action, error) {
	a.Body, a.Path = shortened(a.Body, longestBody), shortened(a.Path, longestPath)
	err := s.change(func(d *Desk, now pix.Millis) (*Record, error) {
		a.Number, a.At, a.Status = d.Seq+1, now, 0
		return &Record{Kind: ActionBegun, Action: &a}, nil
	})
	return a, err
}

// shortened cuts a text to at most n bytes and replaces what is no UTF-8.
func shortened(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// End records how an action that has begun was answered, and returns once the record is durable.
func (s *Operators) End(a Action, status int) error {
	a.Status = uint16(status)
	return s.change(func(*Desk, pix.Millis) (*Record, error) { return &Record{Kind: ActionEnded, Action: &a}, nil })
}

// mostRead is how many actions one call of Actions reads at most.
const mostRead = 10_000

// Actions lists at most limit actions, the newest first, beginning below the number before; 0: with the
// newest. Where operator is not empty, it lists that operator's alone. next is what the next call gives as
// before; 0: there are no more.
func (s *Operators) Actions(operator string, before uint64, limit int) (all []*Action, next uint64, err error) {
	lo, hi := deskKey(rowAction, nil), deskKey(rowAction+1, nil)
	if before != 0 {
		lo = append(actionKey(before), 0)
	}
	read, last := 0, uint64(0)
	err = s.journal.Scan(lo, hi, func(key, value []byte) (bool, error) {
		if len(all) == limit || read == mostRead {
			next = last
			return false, nil
		}
		a := new(Action)
		if err := cbormap.Decoding.Unmarshal(value, a); err != nil {
			return false, fmt.Errorf("registry: action row %q: %w", key, err)
		}
		if read, last = read+1, a.Number; operator == "" || a.Operator == operator {
			all = append(all, a)
		}
		return true, nil
	})
	return all, next, err
}

// Approve notes that an operator approves a payout that needs two. first is the approval of another operator; nil: this
// one is the first, and it is durable. ErrApprovedOnce: the same operator has approved it.
func (s *Operators) Approve(payout pix.TxID, operator string) (first *FirstApproval, err error) {
	err = s.change(func(d *Desk, now pix.Millis) (r *Record, err error) {
		r, first, err = d.Approve(FirstApproval{Payout: payout, Operator: operator, At: now})
		return r, err
	})
	return first, err
}

// Decided forgets the first approval of a payout that was decided.
func (s *Operators) Decided(payout pix.TxID) error {
	return s.change(func(d *Desk, _ pix.Millis) (*Record, error) { return d.Decided(payout), nil })
}

// ForgetApprovals forgets the first approvals of payouts that wait for another no more. waits reports whether a payout does.
// One of which that cannot be told keeps its own; the first such error is returned.
func (s *Operators) ForgetApprovals(waits func(payout pix.TxID) (bool, error)) (first error) {
	s.approvals.Range(func(payout, _ any) bool {
		id := payout.(pix.TxID)
		wait, err := waits(id)
		if err == nil && !wait {
			err = s.Decided(id)
		}
		if first == nil {
			first = err
		}
		return true
	})
	return first
}

// FirstApproval returns the first of two approvals of a payout; nil: there is none, or it does not count any more.
func (s *Operators) FirstApproval(payout pix.TxID) *FirstApproval {
	a, _ := s.approvals.Load(payout)
	first, _ := a.(*FirstApproval)
	if first == nil {
		return nil
	}
	o, _ := s.published.Load(first.Operator)
	if by, _ := o.(*Operator); !first.stands(by) {
		return nil
	}
	return first
}
