package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"pixd/cmd/engine"
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

// audit compares three books: what clients were answered with what the engine's API lists, to
// the item; the engine's balances with those items; and the engine's records with its balances
// and with the scheme's book, which the engine's own audit does.
func (s *session) audit(ctx context.Context, a *Audit) error {
	began := time.Now()
	a.Differences = []string{}
	s.show(Progress{Stage: "audit", What: "accounts settled"})
	report, err := s.settled(ctx)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	a.Scheme, a.InFlight, a.Accounts = report.Book, report.InFlight, len(s.merchants)
	if report.LeftOut+len(report.Rows) < len(s.merchants) {
		a.differ("the engine's audit has %d accounts, and %d were made for the load", report.Accounts, len(s.merchants))
	}
	for _, d := range report.Differences {
		a.differ("account %s: %s", d.Account, d.Message)
	}
	told, unknown := s.byAccount(a)
	found := make([][]string, len(s.merchants))
	err = s.each(ctx, "audit", "accounts", len(s.merchants), func(ctx context.Context, i int) error {
		b := &book{merchant: &s.merchants[i], told: told[i], unknown: unknown[i]}
		b.expectPayments(s, i)
		if err := b.read(ctx, s); err != nil {
			return fmt.Errorf("account %s: %w", b.id, err)
		}
		found[i] = b.differences
		return nil
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, differences := range found {
		for _, d := range differences {
			a.differ("%s", d)
		}
	}
	a.Seconds = time.Since(began).Seconds()
	return nil
}

// differ adds a difference.
func (a *Audit) differ(format string, args ...any) {
	if a.Found++; a.Found <= differencesShown {
		a.Differences = append(a.Differences, fmt.Sprintf(format, args...))
	}
}

// settled waits until nothing is in flight, and returns the engine's own audit. After settleTime
// it returns the audit that it has: work in flight is no difference.
func (s *session) settled(ctx context.Context) (*engine.AuditReport, error) {
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
		var r engine.AuditReport
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

// book compares one account.
type book struct {
	*merchant
	told        map[string]*answered // by transaction_id
	payments    map[string]bool      // end-to-end ids of the payments that customers made before the load
	unknown     []*answered
	balance     int64 // what the items make
	pending     int64
	credited    bool
	differences []string
}

// item is a transaction in the merchant API's lists.
type item struct {
	TransactionID string  `json:"transaction_id"`
	EndToEnd      *string `json:"end_to_end_id"`
	Type          string  `json:"type"`
	Status        string  `json:"status"`
	Direction     string  `json:"direction"`
	Amount        int64   `json:"amount"`
	Fee           int64   `json:"fee_amount"`
	Net           int64   `json:"net_amount"`
	Completed     *string `json:"completed_at"`
}

func (b *book) expectPayments(s *session, account int) {
	b.payments = map[string]bool{}
	for i := account; i < len(s.payments); i += len(s.merchants) {
		b.payments[s.payments[i].endToEnd] = true
	}
}

func (b *book) differ(format string, args ...any) {
	b.differences = append(b.differences, "account "+b.id+": "+fmt.Sprintf(format, args...))
}

// read reads the account's transactions and balance, and compares them.
func (b *book) read(ctx context.Context, s *session) error {
	for page := 1; ; page++ {
		var list struct{ Data []item }
		q := url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(pageSize)}}
		if err := s.merchantGet(ctx, b.merchant, "/transactions?"+q.Encode(), &list); err != nil {
			return err
		}
		for i := range list.Data {
			b.take(&list.Data[i])
		}
		if len(list.Data) < pageSize {
			break
		}
	}
	b.leftOver()
	var now struct{ Balance, Available, Pending int64 }
	if err := s.merchantGet(ctx, b.merchant, "/balance", &now); err != nil {
		return err
	}
	if now.Balance != b.balance || now.Pending != b.pending || now.Available != b.balance-b.pending {
		b.differ("its balance is %d, of which %d are pending and %d available, but its transactions make %d and %d",
			now.Balance, now.Pending, now.Available, b.balance, b.pending)
	}
	return nil
}

// take compares one transaction with what the client was answered.
func (b *book) take(i *item) {
	b.count(i)
	if t := b.told[i.TransactionID]; t != nil {
		if t.amount != i.Amount {
			b.differ("%s is over %d, and its request was over %d", i.TransactionID, i.Amount, t.amount)
		}
		delete(b.told, i.TransactionID)
		return
	}
	switch {
	case i.EndToEnd != nil && b.payments[*i.EndToEnd] && i.Amount == paymentAmount:
		delete(b.payments, *i.EndToEnd)
	case i.Type == "ted" && i.Amount == funds && !b.credited:
		b.credited = true
	case !b.explained(i):
		b.differ("%s over %d is in the book, and no client was answered so", i.TransactionID, i.Amount)
	}
}

// count adds a transaction to the balance.
func (b *book) count(i *item) {
	switch {
	case i.Completed != nil && i.Direction == "inbound":
		b.balance += i.Net
	case i.Completed != nil:
		b.balance -= i.Net
	case i.Status == "pending":
		b.pending += i.Net
	}
}

// explained finds a request without a known outcome that may have made a transaction.
func (b *book) explained(i *item) bool {
	at := slices.IndexFunc(b.unknown, func(u *answered) bool {
		return u.amount == i.Amount && strings.HasPrefix(i.TransactionID, prefixes[u.kind])
	})
	if at < 0 {
		return false
	}
	b.unknown = slices.Delete(b.unknown, at, at+1)
	return true
}

// leftOver names what clients were answered, and what they paid, and the engine does not list.
func (b *book) leftOver() {
	for _, id := range slices.Sorted(maps.Keys(b.told)) {
		b.differ("%s over %d was answered %d, and is not in the book", id, b.told[id].amount, b.told[id].status)
	}
	for _, id := range slices.Sorted(maps.Keys(b.payments)) {
		b.differ("the payment %s is not in the book", id)
	}
	if !b.credited {
		b.differ("its credit is not in the book")
	}
}

// auditTries is how often a read of the audit is tried: after a load the engine may still refuse
// some, and a rate limit counts the audit's requests too.
const auditTries = 70

// merchantGet reads from the merchant API.
func (s *session) merchantGet(ctx context.Context, m *merchant, path string, into any) error {
	var last error
	for range auditTries {
		status, body, err := s.ask(ctx, m, path)
		switch {
		case err != nil:
			last = err
		case status == http.StatusOK:
			return json.Unmarshal(body, into)
		default:
			last = fmt.Errorf("%s answers %d: %s", path, status, body)
			if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
				return last
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		case <-time.After(time.Second):
		}
	}
	return last
}

// ask sends one request to the merchant API.
func (s *session) ask(ctx context.Context, m *merchant, path string) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.target.URL+"/api/external"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "ApiKey "+m.clientID+":"+m.secret)
	answer, err := s.reader.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(answer.Body, longestAnswer))
	return answer.StatusCode, body, err
}

// newReader returns the audit's client. It has a source address of its own where there are many,
// because the load may have used up what its addresses may send in a minute.
func (t *target) newReader() *http.Client {
	d := net.Dialer{Timeout: dialTimeout}
	if t.from != nil {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 255, 0, 1)}
	}
	return &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{DialContext: d.DialContext, TLSClientConfig: t.tls, MaxIdleConnsPerHost: atOnce},
	}
}
