package bench

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pixd/actors/audit"
)

// book compares one account.
type book struct {
	*merchant
	told        map[string]*answered // by transaction_id
	payments    map[string]bool      // end-to-end ids of the payments that customers made before the load
	unknown     []*answered
	balance     int64 // what the items make
	pending     int64
	credited    bool
	sent        int64 // the settled payouts
	returned    int64 // the settled refunds
	ended       tally
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
	s := statusOf(i.Status)
	if s.moved() != (i.Completed != nil) {
		b.differ("%s is listed as %s, and completed_at says otherwise", i.TransactionID, i.Status)
	}
	if t := b.told[i.TransactionID]; t != nil {
		b.ended[t.kind][s]++
		if t.amount != i.Amount {
			b.differ("%s is over %d, and its request was over %d", i.TransactionID, i.Amount, t.amount)
		}
		if !s.follows(t.told, t.kind) {
			b.differ("%s is listed as %s, and its client was told %s", i.TransactionID, i.Status, t.told)
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
	if settled := i.Status == statusSettled.String(); settled && strings.HasPrefix(i.TransactionID, prefixes[cashOut]) {
		b.sent += i.Amount
	} else if settled && strings.HasPrefix(i.TransactionID, prefixes[refund]) {
		b.returned += i.Amount
	}
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
	b.ended[b.unknown[at].kind][statusOf(i.Status)]++
	b.unknown = slices.Delete(b.unknown, at, at+1)
	return true
}

// against compares what the items say was sent and refunded with the account's line in the
// engine's own audit, which was compared with the scheme's book. It must have been made with
// nothing in flight and no request without a known outcome.
func (b *book) against(row *audit.ReportedAccount) {
	if row == nil {
		return
	}
	if int64(row.Sent) != b.sent || int64(row.ReturnedBy) != b.returned {
		b.differ("its lists say that %d were sent and %d refunded, and the engine's audit says %d and %d", b.sent, b.returned, row.Sent, row.ReturnedBy)
	}
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
