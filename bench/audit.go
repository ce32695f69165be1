package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/goccy/go-json"

	"pixd/actors/audit"
)

const (
	// settleTime is how long the audit waits until nothing is in flight any more.
	settleTime = 30 * time.Second
	// auditTimeout is how long the engine's own audit may take.
	auditTimeout = 15 * time.Minute
	// differencesShown is the largest number of differences that a report names.
	differencesShown = 20
	// pageSize is the number of items that the audit reads at once: as many as a list gives.
	pageSize = 100
)

// audit compares three books: what clients were answered with what the engine's API lists, item
// by item, status and amount; the engine's balances with those items; and the engine's records with its balances
// and with the scheme's book, which the engine's own audit does.
func (s *session) audit(ctx context.Context, a *Audit) error {
	began := time.Now()
	s.show(Progress{Stage: "audit", What: "accounts settled"})
	report, err := s.settled(ctx)
	if err != nil {
		return err
	}
	a.Scheme, a.InFlight, a.Accounts = report.Book, report.InFlight, len(s.merchants)
	if report.LeftOut+len(report.Rows) < len(s.merchants) {
		a.differ("the engine's audit has %d accounts, and %d were made for the load", report.Accounts, len(s.merchants))
	}
	for _, d := range report.Differences {
		a.differ("account %s: %s", d.Account, d.Message)
	}
	told, unknown := s.byAccount(a)
	found, ended := make([][]string, len(s.merchants)), make([]tally, len(s.merchants))
	rows := rowsAtRest(report)
	err = s.each(ctx, "audit", "accounts", len(s.merchants), func(ctx context.Context, i int) error {
		b := &book{merchant: &s.merchants[i], told: told[i], unknown: unknown[i]}
		b.expectPayments(s, i)
		if err := b.read(ctx, s); err != nil {
			return fmt.Errorf("account %s: %w", b.id, err)
		}
		if len(unknown[i]) == 0 {
			b.against(rows[b.id])
		}
		found[i], ended[i] = b.differences, b.ended
		return nil
	})
	if err != nil {
		return err
	}
	var all tally
	for i := range ended {
		all.add(&ended[i])
	}
	a.Statuses = all.list()
	for _, differences := range found {
		for _, d := range differences {
			a.differ("%s", d)
		}
	}
	a.Seconds = time.Since(began).Seconds()
	return nil
}

// rowsAtRest returns the accounts' lines in the engine's own audit by id; none where something
// was in flight, which may have settled since.
func rowsAtRest(report *audit.Report) map[string]*audit.ReportedAccount {
	rows := map[string]*audit.ReportedAccount{}
	if report.InFlight > 0 {
		return rows
	}
	for i := range report.Rows {
		rows[report.Rows[i].ID] = &report.Rows[i]
	}
	return rows
}

// differ adds a difference.
func (a *Audit) differ(format string, args ...any) {
	if a.Found++; a.Found <= differencesShown {
		a.Differences = append(a.Differences, fmt.Sprintf(format, args...))
	}
}

// settled waits until nothing is in flight, and returns the engine's own audit. After settleTime
// it returns the audit that it has: work in flight is no difference.
func (s *session) settled(ctx context.Context) (*audit.Report, error) {
	client := *s.target.operator
	client.HTTP = &http.Client{Timeout: auditTimeout}
	if o := s.target.operator.HTTP; o != nil {
		client.HTTP.Transport = o.Transport
	}
	for until := time.Now().Add(settleTime); ; {
		raw, err := client.Do(ctx, http.MethodGet, "/admin/audit", nil)
		if err != nil {
			return nil, err
		}
		var r audit.Report
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, err
		}
		if r.InFlight == 0 || len(r.Differences) > 0 || time.Now().After(until) {
			return &r, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// byAccount sorts what clients were answered by account. unknown has the requests of which the
// client does not know what became of them.
func (s *session) byAccount(a *Audit) (told []map[string]*answered, unknown [][]*answered) {
	told, unknown = make([]map[string]*answered, len(s.merchants)), make([][]*answered, len(s.merchants))
	for i := range s.answers.shards {
		for j := range s.answers.shards[i].all {
			one := &s.answers.shards[i].all[j]
			switch {
			case one.status == 0:
				a.Unknown++
				unknown[one.account] = append(unknown[one.account], one)
				continue
			case !one.named:
				a.differ("account %s: a %s was answered %d without a transaction_id", s.merchants[one.account].id, paths[one.kind], one.status)
				continue
			case told[one.account] == nil:
				told[one.account] = map[string]*answered{}
			case told[one.account][one.id.String()] != nil:
				a.differ("account %s: %v was given to two requests", s.merchants[one.account].id, one.id)
			}
			a.Answers++
			told[one.account][one.id.String()] = one
		}
	}
	return told, unknown
}
