package ledger

import (
	"slices"

	"pixd/actors/pix"
)

// FormerSecret is a key of signatures that a subscription had before.
type FormerSecret struct {
	Secret []byte     `cbor:"1,keyasint"`
	Until  pix.Millis `cbor:"2,keyasint"` // engine time until which it signs too
}

const (
	// FormerSigns is how long a subscription's former secret signs beside the new one.
	FormerSigns = day
	// maxFormer is how many former secrets sign at once. A merchant that repeats a rotation whose answer was
	// lost has a secret that nobody knows, and its receiver still the one before.
	maxFormer = 3
)

// signing are those of the former secrets that sign at a time. While it is doubted, none ends.
func (s *Subscription) signing(now pix.Reading) (all []FormerSecret) {
	for _, f := range s.Former {
		if now.Doubted || f.Until > now.Clock {
			all = append(all, f)
		}
	}
	return all
}

// FormerShown returns the former secrets that sign at a time, as merchants see them, the oldest first.
func (s *Subscription) FormerShown(now pix.Reading) (all []string) {
	for _, f := range s.signing(now) {
		all = append(all, shown(f.Secret))
	}
	return all
}

// FormerUntil is the engine time until which the newest former secret signs; 0: there is none.
func (s *Subscription) FormerUntil() pix.Millis {
	if n := len(s.Former); n > 0 {
		return s.Former[n-1].Until
	}
	return 0
}

// ChangeSubscription changes a webhook subscription that is not removed. What is nil stays.
type ChangeSubscription struct {
	ID     pix.SubscriptionID
	URL    *string        // checked by the caller
	Events *pix.EventMask // not empty
	Active *bool          // false: nothing is delivered any more, until it is true again
}

// RotateSecret gives a webhook subscription a new secret. The one that it had signs beside it for
// FormerSigns.
type RotateSecret struct {
	ID     pix.SubscriptionID
	Secret []byte // 32 drawn bytes
	Claim  *Claim
}

// TestSubscription causes an event that the subscription alone gets.
type TestSubscription struct {
	ID    pix.SubscriptionID
	Claim *Claim
}

func (c RotateSecret) traits() Traits     { return Traits{Claim: c.Claim} }
func (c TestSubscription) traits() Traits { return Traits{Claim: c.Claim} }

// The facts of these commands: the subscription, or nil where the account never had it.
type (
	changeFacts struct {
		ChangeSubscription
		subscription *Subscription
	}
	rotationFacts struct {
		RotateSecret
		subscription *Subscription
	}
	testFacts struct {
		TestSubscription
		subscription *Subscription
	}
)

func (c ChangeSubscription) gather(g *gathering) (decider, error) {
	g.stakes.none = true
	s, err := g.subscription(c.ID)
	return &changeFacts{c, s}, err
}

func (c RotateSecret) gather(g *gathering) (decider, error) {
	g.stakes.none = true
	s, err := g.subscription(c.ID)
	return &rotationFacts{c, s}, err
}

func (c TestSubscription) gather(g *gathering) (decider, error) {
	g.stakes.none = true
	s, err := g.subscription(c.ID)
	return &testFacts{c, s}, err
}

// has tells whether the subscription is the one with the id, and not removed; it may be nil.
func (s *Subscription) has(id pix.SubscriptionID) bool {
	return s != nil && s.ID == id && s.Status != SubscriptionRemoved
}

func unknownSubscription() Decision {
	return refuseWith(refuse(RefuseUnknownSubscription, "webhook not found"))
}

// decide changes a subscription; what is as it was makes no record. The one refusal: the account has
// no such subscription, or removed it.
func (c *changeFacts) decide(d *draft) Decision {
	if !c.subscription.has(c.ID) {
		return unknownSubscription()
	}
	changed := *c.subscription
	if c.URL != nil {
		changed.URL = *c.URL
	}
	if c.Events != nil {
		changed.Events = *c.Events
	}
	if c.Active != nil {
		changed.Status = SubscriptionStopped
		if *c.Active {
			changed.Status = SubscriptionActive
		}
	}
	was := c.subscription
	if changed.URL != was.URL || changed.Events != was.Events || changed.Status != was.Status {
		changed.Former = was.signing(d.stamp.Reading)
		d.mustAdd(SubscriptionChanged, Body{Subscription: &changed})
	}
	return d.doneSubscription(&changed)
}

// decide gives a subscription a new secret. Refusals, in order: the account has no such subscription, or
// removed it; too many of its former secrets still sign.
func (c *rotationFacts) decide(d *draft) Decision {
	if !c.subscription.has(c.ID) {
		return unknownSubscription()
	}
	changed := *c.subscription
	changed.Former = changed.signing(d.stamp.Reading)
	if len(changed.Former) >= maxFormer {
		return refuseWith(refuse(RefuseTooManySecrets, "at most 3 earlier secrets of a webhook sign at once, each for 24 h"))
	}
	changed.Former = append(slices.Clip(changed.Former), FormerSecret{Secret: changed.Secret, Until: d.stamp.Clock + FormerSigns})
	changed.Secret = c.Secret
	d.mustAdd(SubscriptionChanged, Body{Subscription: &changed, Claim: c.Claim})
	return d.doneSubscription(&changed)
}

// decide causes the event. Refusals, in order: the account has no such subscription, or removed it; it is
// stopped.
func (c *testFacts) decide(d *draft) Decision {
	switch {
	case !c.subscription.has(c.ID):
		return unknownSubscription()
	case c.subscription.Status != SubscriptionActive:
		return refuseWith(refuse(RefuseStoppedSubscription, "the webhook is stopped"))
	}
	d.mustAdd(SubscriptionTested, Body{Subscription: c.subscription, Events: []pix.EventKind{pix.EventTest}, Claim: c.Claim})
	out := d.doneSubscription(c.subscription)
	event := d.records[len(d.records)-1].Event(0)
	out.Event = &event
	return out
}
