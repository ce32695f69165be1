package httpapi

import (
	"errors"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// fakeLists are lists that a test sets, and what was asked of them last.
type fakeLists struct {
	all      []*ledger.Transaction
	err      error
	asked    string // the list, or the kind of id
	account  pix.AccountID
	text     string // the id or the external id
	filter   layout.Filter
	page     layout.Page
	requests int

	subscriptions []*ledger.Subscription
	deliveries    []ledger.DeliveryItem
	target        layout.Target
	state         layout.DeliveryState
}

func (l *fakeLists) Statement(a pix.AccountID, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error) {
	l.asked, l.account, l.text, l.filter, l.page = "statement", a, "", f, p
	l.requests++
	return l.all, l.err
}

func (l *fakeLists) Transactions(a pix.AccountID, external string, f layout.Filter, p layout.Page) ([]*ledger.Transaction, error) {
	l.asked, l.account, l.text, l.filter, l.page = "transactions", a, external, f, p
	l.requests++
	return l.all, l.err
}

func (l *fakeLists) EndToEnd(a pix.AccountID, id string) (*ledger.Transaction, error) {
	return l.find("e2e", a, id)
}

func (l *fakeLists) Tag(a pix.AccountID, id string) (*ledger.Transaction, error) {
	return l.find("tag", a, id)
}

func (l *fakeLists) Reference(a pix.AccountID, id string) (*ledger.Transaction, error) {
	return l.find("ref", a, id)
}

func (l *fakeLists) find(kind string, a pix.AccountID, id string) (*ledger.Transaction, error) {
	l.asked, l.account, l.text = kind, a, id
	l.requests++
	switch {
	case l.err != nil:
		return nil, l.err
	case len(l.all) == 0:
		return nil, nil
	}
	return l.all[0], nil
}

var errRows = errors.New("rows are gone")

func (l *fakeLists) Subscriptions(a pix.AccountID, numbers []uint32) (all []*ledger.Subscription, err error) {
	l.asked, l.account = "subscriptions", a
	l.requests++
	for _, n := range numbers {
		for _, s := range l.subscriptions {
			if s.ID.Number() == n {
				all = append(all, s)
			}
		}
	}
	return all, l.err
}

func (l *fakeLists) Subscription(t layout.Target) (*ledger.Subscription, error) {
	l.asked, l.account = "subscription", t.Account
	l.requests++
	for _, s := range l.subscriptions {
		if s.ID.Number() == t.Number {
			return s, l.err
		}
	}
	return nil, l.err
}

func (l *fakeLists) Deliveries(t layout.Target, state layout.DeliveryState, p layout.Page) ([]ledger.DeliveryItem, error) {
	l.asked, l.target, l.state, l.page = "deliveries", t, state, p
	l.requests++
	return l.deliveries, l.err
}
