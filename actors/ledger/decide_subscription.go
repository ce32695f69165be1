package ledger

// subscribe makes a subscription. The caller has checked URL and events. The one refusal:
// the account has MaxSubscriptions already.
func (d *draft) subscribe(c Subscribe) Decision {
	if len(d.account.Subscriptions) >= MaxSubscriptions {
		return Decision{Refusal: refuse(RefuseTooManySubscriptions, "at most 20 webhooks an account")}
	}
	number := uint32(d.totals.Subscriptions) + 1
	s := &Subscription{
		ID:  NewSubscriptionID(d.account.ID, number, [4]byte(d.stamp.ID[12:])),
		URL: c.URL, Events: c.Events, Secret: c.Secret, Status: SubscriptionActive, CreatedAt: d.stamp.Time,
	}
	d.moveless(SubscriptionMade, Body{Subscription: s, Claim: c.Claim})
	return d.subscription(s)
}

// endSubscription stops or removes a subscription. What was done before is not done again. The
// one refusal: the account has no such subscription, or removed it.
func (d *draft) endSubscription(c EndSubscription, f Facts) Decision {
	s := f.Subscription
	if s == nil || s.ID != c.ID || s.Status == SubscriptionRemoved {
		return Decision{Refusal: refuse(RefuseUnknownSubscription, "webhook not found")}
	}
	changed := *s
	switch {
	case !c.Stop:
		changed.Status = SubscriptionRemoved
		d.moveless(SubscriptionDropped, Body{Subscription: &changed})
	case s.Status == SubscriptionActive:
		changed.Status = SubscriptionStopped
		d.moveless(SubscriptionEnded, Body{Subscription: &changed})
	}
	return d.subscription(&changed)
}

func (d *draft) subscription(s *Subscription) Decision {
	return Decision{Records: d.records, Subscription: s}
}

// subscription reads the subscription with that id; nil where the account never had it.
func (g *gathering) subscription(id SubscriptionID) (*Subscription, error) {
	if id.Account() != g.account.ID {
		return nil, nil
	}
	row, ok, err := g.Row(SubscriptionKey(g.account.ID, id.Number()))
	if err != nil || !ok {
		return nil, err
	}
	seq, err := DecodeSeqRow(row)
	if err != nil {
		return nil, err
	}
	r, err := g.Record(g.account.ID, seq)
	if err != nil {
		return nil, err
	}
	return r.Subscription, nil
}
