package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

const (
	auditAsked  = 2 * time.Second // time between two questions how far an audit is
	auditSilent = 2 * time.Minute // with no answer to them for so long, the engine is given up
)

// liveAudit is an audit of a running engine. It takes as long as it takes: reading a large journal may take an hour.
type liveAudit struct {
	*operator.Client
	asked, silent time.Duration
	far           *terminal.Progress
}

// live audits a running engine.
func (f *auditFlags) live(c *cobra.Command) (json.RawMessage, error) {
	o, err := f.Client()
	if err != nil {
		return nil, err
	}
	far := terminal.NewProgress(c.ErrOrStderr(), terminal.Is(os.Stderr))
	defer far.End()
	return (&liveAudit{o, auditAsked, auditSilent, far}).report(c.Context())
}

// report asks for the audit, and shows how far it is.
func (l *liveAudit) report(ctx context.Context) (json.RawMessage, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	patient := *l.Client
	patient.HTTP = operator.NewHTTP(nil)
	if l.HTTP != nil {
		patient.HTTP.Transport = l.HTTP.Transport
	}
	patient.HTTP.Timeout = 0
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		l.watch(ctx, giveUp)
	}()
	raw, err := patient.Do(ctx, http.MethodGet, "/admin/audit", nil)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	giveUp(nil)
	<-watched
	return raw, err
}

// watch shows how far the audit is until ctx ends, and gives the engine up where it falls silent.
func (l *liveAudit) watch(ctx context.Context, giveUp context.CancelCauseFunc) {
	for heard := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.asked):
		}
		raw, err := l.Do(ctx, http.MethodGet, "/admin/audit/run", nil)
		switch {
		case err == nil:
			heard = time.Now()
			l.far.Now(func(took time.Duration) string { return auditLine(raw, took) })
		case time.Since(heard) > l.silent:
			giveUp(fmt.Errorf("the audit is given up: %w", err))
			return
		}
	}
}

// auditLine says how far an audit is.
func auditLine(raw json.RawMessage, took time.Duration) string {
	var at struct {
		Running struct {
			Stage      string `json:"stage"`
			Records    uint64 `json:"records_done"`
			Accounts   int    `json:"accounts_done"`
			OfAccounts int    `json:"accounts_total"`
		} `json:"running"`
	}
	if err := json.Unmarshal(raw, &at); err != nil || at.Running.Stage == "" {
		return fmt.Sprintf("auditing, %v", took.Round(time.Second))
	}
	r := &at.Running
	return fmt.Sprintf("%s: %d records of %d of %d accounts, %v", terminal.Plain(r.Stage), r.Records, r.Accounts, r.OfAccounts, took.Round(time.Second))
}
