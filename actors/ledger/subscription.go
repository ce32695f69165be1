package ledger

import (
	"encoding/base64"
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Shown is the secret as merchants see it: whsec_ and base64.
func (s *Subscription) Shown() string { return shown(s.Secret) }

func shown(secret []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(secret) }

// SubscriptionStatus is the status of a subscription. Its values are stored.
type SubscriptionStatus uint8

// The statuses of a subscription.
const (
	SubscriptionActive  SubscriptionStatus = 1
	SubscriptionStopped SubscriptionStatus = 2 // the receiver answered 410, or the merchant stopped it: nothing is delivered any more
	SubscriptionRemoved SubscriptionStatus = 3 // the merchant removed it
)

// Subscription is a merchant's wish to be told of events at a URL. Every record about a
// subscription contains the whole of it.
type Subscription struct {
	ID        pix.SubscriptionID `cbor:"1,keyasint"`
	URL       string             `cbor:"2,keyasint"` // called exactly as it is
	Events    pix.EventMask      `cbor:"3,keyasint"`
	Secret    []byte             `cbor:"4,keyasint"` // key of the signatures, 32 bytes
	Status    SubscriptionStatus `cbor:"5,keyasint"`
	CreatedAt pix.Millis         `cbor:"6,keyasint"`
	Former    []FormerSecret     `cbor:"7,keyasint,omitempty"` // keys that it had before and that may sign still, the oldest first
}

// MaxSubscriptions is how many subscriptions an account may have that are not removed.
const MaxSubscriptions = 20

// Subscribed is what the account's head keeps of a subscription that is not removed.
type Subscribed struct {
	Number  uint32        `cbor:"1,keyasint"`
	Events  pix.EventMask `cbor:"2,keyasint"`
	Stopped bool          `cbor:"3,keyasint,omitempty"`
}

// Delivery is one event that one subscription is to get.
type Delivery struct {
	_            struct{} `cbor:",toarray"`
	Event        uint8    // index of the event in Body.Events
	Subscription uint32   // number of the subscription
}

// deliveries returns which subscriptions of the account get which of the events of a record about s, which is
// nil where it is about no subscription.
func (a *Account) deliveries(events []pix.EventKind, about *Subscription) (all []Delivery) {
	for i, kind := range events {
		if kind == pix.EventTest {
			all = append(all, Delivery{Event: uint8(i), Subscription: about.ID.Number()})
			continue
		}
		for _, s := range a.Subscriptions {
			if !s.Stopped && s.Events.Has(kind) {
				all = append(all, Delivery{Event: uint8(i), Subscription: s.Number})
			}
		}
	}
	return all
}

// checkSubscription returns an error where a record about a subscription cannot follow the
// head, or where the record's deliveries are not those of the account's subscriptions.
func (a *Account) checkSubscription(r *Record) error {
	s := r.Subscription
	if slices.Contains(r.Events, pix.EventTest) != (r.Kind == SubscriptionTested) {
		return fmt.Errorf("events %v", r.Events)
	}
	if want := a.deliveries(r.Events, s); !slices.Equal(r.Deliveries, want) {
		return fmt.Errorf("deliveries %v where %v follow", r.Deliveries, want)
	}
	if s == nil {
		return nil
	}
	at := a.subscribed(s.ID.Number())
	var ok bool
	switch r.Kind {
	case SubscriptionMade:
		ok = s.Status == SubscriptionActive && uint64(s.ID.Number()) == a.Totals.Subscriptions+1 && len(a.Subscriptions) < MaxSubscriptions
	case SubscriptionEnded:
		ok = s.Status == SubscriptionStopped && at >= 0 && !a.Subscriptions[at].Stopped
	case SubscriptionDropped:
		ok = s.Status == SubscriptionRemoved && at >= 0
	case SubscriptionChanged:
		ok = (s.Status == SubscriptionActive || s.Status == SubscriptionStopped) && at >= 0
	case SubscriptionTested:
		ok = s.Status == SubscriptionActive && at >= 0 && !a.Subscriptions[at].Stopped
	}
	if !ok || s.ID.Account() != a.ID {
		return fmt.Errorf("subscription %v in status %d", s.ID, s.Status)
	}
	return nil
}

// SubscriptionNumbers returns the numbers of the account's subscriptions that are not removed, the
// oldest first: at most MaxSubscriptions.
func (a *Account) SubscriptionNumbers() (numbers []uint32) {
	for _, s := range a.Subscriptions {
		numbers = append(numbers, s.Number)
	}
	return numbers
}

// subscribed returns the index of a subscription in Subscriptions; -1 where there is none.
func (a *Account) subscribed(number uint32) int {
	return slices.IndexFunc(a.Subscriptions, func(s Subscribed) bool { return s.Number == number })
}

// subscribe changes the head's list of subscriptions as a record says. Copies of the head keep
// the list that they have.
func (a *Account) subscribe(s *Subscription) {
	list := slices.Clone(a.Subscriptions)
	at := a.subscribed(s.ID.Number())
	switch {
	case at < 0:
		list = append(list, Subscribed{Number: s.ID.Number(), Events: s.Events})
	case s.Status == SubscriptionRemoved:
		list = slices.Delete(list, at, at+1)
	default:
		list[at].Events, list[at].Stopped = s.Events, s.Status == SubscriptionStopped
	}
	if len(list) == 0 {
		list = nil
	}
	a.Subscriptions = list
}

// Subscribe makes a webhook subscription.
type Subscribe struct {
	URL    string        // checked by the caller
	Events pix.EventMask // not empty
	Secret []byte        // 32 drawn bytes
	Claim  *Claim
}

func (c Subscribe) traits() Traits { return Traits{Claim: c.Claim} }

func (c Subscribe) gather(g *gathering) (decider, error) { return g.needsNoFacts(c) }

// EndSubscription stops or removes a webhook subscription.
type EndSubscription struct {
	ID   pix.SubscriptionID
	Stop bool   // the receiver wants no more events; false: the merchant removes the subscription
	URL  string // with Stop: where that receiver is, and a subscription that has another URL by now goes on; empty: wherever it is
}

// decide makes a subscription. The caller has checked URL and events. The one refusal:
// the account has MaxSubscriptions already.
func (c Subscribe) decide(d *draft) Decision {
	if len(d.account.Subscriptions) >= MaxSubscriptions {
		return refuseWith(refuse(RefuseTooManySubscriptions, "at most 20 webhooks an account"))
	}
	number := uint32(d.totals.Subscriptions) + 1
	s := &Subscription{
		ID:  pix.NewSubscriptionID(d.account.ID, number, [4]byte(d.stamp.ID[12:])),
		URL: c.URL, Events: c.Events, Secret: c.Secret, Status: SubscriptionActive, CreatedAt: d.stamp.Time,
	}
	d.mustAdd(SubscriptionMade, Body{Subscription: s, Claim: c.Claim})
	return d.doneSubscription(s)
}

// endingFacts are what the decision about the end of a subscription needs.
type endingFacts struct {
	EndSubscription
	subscription *Subscription // nil: the account never had it
}

func (c EndSubscription) gather(g *gathering) (decider, error) {
	g.stakes.none = true
	s, err := g.subscription(c.ID)
	return &endingFacts{c, s}, err
}

// decide stops or removes a subscription. What was done before is not done again. The
// one refusal: the account has no such subscription, or removed it.
func (c *endingFacts) decide(d *draft) Decision {
	s := c.subscription
	if !s.has(c.ID) {
		return unknownSubscription()
	}
	changed := *s
	switch {
	case !c.Stop:
		changed.Status = SubscriptionRemoved
		d.mustAdd(SubscriptionDropped, Body{Subscription: &changed})
	case s.Status == SubscriptionActive && (c.URL == "" || c.URL == s.URL):
		changed.Status = SubscriptionStopped
		d.mustAdd(SubscriptionEnded, Body{Subscription: &changed})
	}
	return d.doneSubscription(&changed)
}

func (d *draft) doneSubscription(s *Subscription) Decision {
	return Decision{Answer: Answer{Subscription: s}, Records: d.records}
}

// subscription reads the subscription with that id; nil where the account never had it.
func (g *gathering) subscription(id pix.SubscriptionID) (*Subscription, error) {
	if id.Account() != g.account.ID {
		return nil, nil
	}
	seq, ok, err := layout.Find(g, layout.SubscriptionKey(g.account.ID, id.Number()), layout.DecodeSeqRow)
	if err != nil || !ok {
		return nil, err
	}
	r, err := g.Record(g.account.ID, seq)
	if err != nil {
		return nil, err
	}
	return r.Subscription, nil
}
