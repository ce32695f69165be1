package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/audit"
	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/httpapi/control"
	"pixd/wal"
)

// How often the books of an engine that works are read again while they differ,
// and for how long at most.
const (
	auditEvery    = 250 * time.Millisecond
	auditPatience = 30 * time.Second
)

// auditor lets one audit run at a time, and none once the end has begun.
type auditor struct {
	mu             sync.Mutex
	running, ended bool
	work           sync.WaitGroup

	patience time.Duration // a test's; 0: auditPatience
}

func (a *auditor) patient() time.Duration {
	if a.patience != 0 {
		return a.patience
	}
	return auditPatience
}

func (a *auditor) begin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return errNotReady
	case a.running:
		return control.Refuse(fasthttp.StatusConflict, "an audit is under way")
	}
	a.running = true
	a.work.Add(1)
	return nil
}

func (a *auditor) done() {
	a.mu.Lock()
	a.running = false
	a.mu.Unlock()
	a.work.Done()
}

// end waits for the audit that is under way, which the engine's end cuts short.
func (a *auditor) end() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.work.Wait()
}

// audit is GET /admin/audit: the books of the running engine.
func (s *Served) audit() (any, error) {
	if err := s.auditor.begin(); err != nil {
		return nil, err
	}
	defer s.auditor.done()
	r, err := s.Engine.audit(s.ending)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	for _, id := range s.Config.alerts.closed.list() {
		if _, err := s.Accounts.Do(id, ledger.ReadAccount{}); errors.Is(err, ledger.ErrQuarantined) {
			r.differ([]audit.Difference{{Account: id, Kind: audit.KindQuarantine, Message: err.Error()}})
		}
	}
	return r.finished(), nil
}

// audit derives every account at one moment, and holds what it has settled
// against the scheme's book, while everything goes on.
func (e *Engine) audit(ctx context.Context) (*AuditReport, error) {
	began := time.Now()
	book, err := e.book(ctx)
	if err != nil {
		return nil, err
	}
	var b books
	r := newAuditReport(e.Clock.Now())
	if err := e.look(ctx, func(v *wal.View) error { return b.derive(ctx, v, e.accounts(), r) }); err != nil {
		return nil, err
	}
	if book.At == 0 {
		r.Book = notCompared + "the scheme keeps none"
		return r, nil
	}
	differ, err := e.compare(ctx, &b, &book, began)
	r.Book = compared
	r.differ(differ)
	return r, err
}

// book is the scheme's, which must come in time: a scheme that takes a request and
// never answers it is told as one that cannot be reached.
func (e *Engine) book(ctx context.Context) (scheme.Book, error) {
	ctx, cancel := context.WithTimeout(ctx, e.auditor.patient())
	defer cancel()
	b, err := e.scheme.Book(ctx)
	if err != nil {
		return b, errors.Join(control.Refuse(fasthttp.StatusServiceUnavailable,
			"the scheme's book cannot be read, so the books were not compared: %v", err), err)
	}
	return b, nil
}

// compare reads again while the books differ and the scheme's notices may be why.
func (e *Engine) compare(ctx context.Context, b *books, before *scheme.Book, began time.Time) ([]audit.Difference, error) {
	var c audit.Comparison
	for sure := 0; ; {
		c.Before(before)
		after, err := e.book(ctx)
		if err != nil {
			return nil, err
		}
		differ := c.Judge(b.sums(), &after)
		if c.Certain() {
			sure++
		}
		if len(differ) == 0 || sure == 2 || time.Since(began) > e.auditor.patient() {
			return differ, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(auditEvery):
		}
		again, err := e.book(ctx)
		if err != nil {
			return nil, err
		}
		before = &again
		if err := e.look(ctx, func(v *wal.View) error { return b.goOn(ctx, v, differ) }); err != nil {
			return nil, err
		}
	}
}

// look looks at the store as it is now, and returns once what it saw is durable.
func (e *Engine) look(ctx context.Context, read func(*wal.View) error) error {
	if err := e.Store.Look(0, read); err != nil {
		return err
	}
	return ctx.Err()
}

// accounts are all there are.
func (e *Engine) accounts() []ledger.AccountID {
	var all []ledger.AccountID
	for from := 0; from >= 0; {
		var page []ledger.AccountID
		page, from = e.Registry.Accounts(from, 1000)
		all = append(all, page...)
	}
	return all
}

// closedOff are the accounts that were quarantined since the start, as the alerts
// tell: the accounts themselves are not to be woken for it.
type closedOff struct {
	mu  sync.Mutex
	all []ledger.AccountID
}

func (c *closedOff) note(a alertForm) {
	id, ok := ledger.ParseAccountID(a.Account)
	if a.Kind != "quarantine" || !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, id)
}

func (c *closedOff) list() []ledger.AccountID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]ledger.AccountID(nil), c.all...)
}
