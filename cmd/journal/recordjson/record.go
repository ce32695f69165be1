package recordjson

import (
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

// AppendLedger appends a record of an account, and a line feed. A position of 0 is left out.
func AppendLedger(b []byte, position uint64, r *ledger.Record) []byte {
	l := head(b, position, r.Account.String(), r.Seq, r.Time, r.Kind.String())
	l.object("body", func() { l.body(r) })
	return append(l.b, "}\n"...)
}

// AppendRegistry appends a record of one of the registry's streams, as AppendLedger does.
func AppendRegistry(b []byte, position uint64, stream string, r *registry.Record) []byte {
	l := head(b, position, stream, r.Seq, r.Time, r.Kind.String())
	l.object("body", func() { l.entry(r) })
	return append(l.b, "}\n"...)
}

// The names of the registry's streams.
const (
	Registry     = "registry"
	Reservations = "reservations"
)

// StreamName is the name of a stream by which operators know it.
func StreamName(s wal.Stream) string {
	switch s {
	case registry.Stream:
		return Registry
	case registry.ReservationStream:
		return Reservations
	}
	return pix.AccountID(s).String()
}

// head begins a line with what the journal stores beside a record's body.
func head(b []byte, position uint64, stream string, seq uint64, at pix.Millis, kind string) *line {
	l := &line{append(b, '{')}
	l.count("position", position)
	l.text("stream", stream)
	l.count("sequence", seq)
	l.text("time", at.String())
	l.text("kind", kind)
	return l
}

func (l *line) body(r *ledger.Record) {
	l.object("totals", func() { l.totals(&r.Totals) })
	if r.Tx != nil {
		l.object("transaction", func() { l.transaction(r.Tx) })
	}
	if r.Settings != nil {
		l.object("settings", func() { l.settings(r.Settings) })
	}
	l.events(r)
	l.claim(r.Claim)
	if r.Stored != nil {
		l.object("answer", func() { l.answer(r.Stored) })
	}
	if m := r.Moved; m != nil {
		l.object("moved_row", func() {
			l.text("end_to_end_id", m.EndToEnd)
			l.object("row", func() { l.row(&m.Row) })
		})
	}
	if r.Row != nil {
		l.object("end_to_end_row", func() { l.row(r.Row) })
	}
	l.instant("due_was", r.DueWas)
	word(l, "due_kind_was", r.DueWasKind, dueKinds[:])
	l.count("previous", r.Prev)
	if r.Sums != nil {
		l.object("refund_sums", func() { l.sums(r.Sums) })
	}
	if r.Case != nil {
		l.object("case", func() { l.specialReturn(r.Case) })
	}
	l.amount("held_was", r.HeldWas)
	l.amount("owed_was", r.OwedWas)
	l.amount("short_was", r.ShortWas)
	if r.Subscription != nil {
		l.object("subscription", func() { l.subscription(r.Subscription) })
	}
	l.objects("deliveries", len(r.Deliveries), func(i int) {
		l.integer("event", int64(r.Deliveries[i].Event)) // an index from 0
		l.count("subscription", uint64(r.Deliveries[i].Subscription))
	})
}

func (l *line) totals(t *ledger.Totals) {
	l.amount("balance", t.Balance)
	l.amount("held", t.Held)
	l.amount("med_held", t.MEDHeld)
	l.count("items", t.Items)
	l.count("bookings", t.Bookings)
	l.count("events", t.Events)
	l.amount("owed", t.Owed)
	l.count("cases", t.Cases)
	l.count("subscriptions", t.Subscriptions)
}

// events writes a record's events. Id and sequence are not in the record, but follow from it.
func (l *line) events(r *ledger.Record) {
	l.objects("events", len(r.Events), func(i int) {
		said(l, "type", r.Events[i], lastEvent)
		if r.Tx != nil || r.Case != nil { // the ids are made of the transaction's or the case's
			e := r.Event(i)
			l.text("id", e.ID.String())
			l.count("sequence", e.Sequence)
		}
	})
}

func (l *line) claim(c *ledger.Claim) {
	if c == nil {
		return
	}
	l.object("claim", func() {
		l.bytes("scope", c.Scope)
		if c.Bucket != 0 {
			l.text("day", time.Unix(int64(c.Bucket)*24*60*60, 0).UTC().Format(time.DateOnly))
		}
		l.instant("at", c.At)
		l.bytes("body_hash", c.BodyHash)
		word(l, "style", c.Style, styles[:])
		l.flag("doubted", c.Doubted)
	})
}

func (l *line) row(r *layout.EndToEndRow) {
	l.account("account", r.Account)
	l.txID("id", r.ID)
	l.count("sequence", r.Seq)
	l.objects("shared_by", len(r.Members), func(i int) {
		l.txID("id", r.Members[i].ID)
		l.count("sequence", r.Members[i].Seq)
	})
}

// txID writes a transaction's id, unless it is 0.
func (l *line) txID(name string, id pix.TxID) {
	if id != (pix.TxID{}) {
		l.text(name, id.String())
	}
}

func (l *line) settings(s *ledger.Settings) {
	l.text("name", s.Name)
	l.text("document", s.Document)
	l.text("city", s.City)
	l.object("cash_in_fee", func() { l.fee(s.CashInFee) })
	l.object("cash_out_fee", func() { l.fee(s.CashOutFee) })
	l.amount("cash_out_ceiling", s.CashOutCeiling)
	if s.ApprovalThreshold != nil { // 0 is a threshold too: every payout waits
		l.integer("approval_threshold", int64(*s.ApprovalThreshold))
	}
	l.flag("block_cnpj_out", s.BlockCNPJOut)
	l.texts("authorized_cnpjs", s.AuthorizedCNPJs)
	l.number("repeat_window_ms", int64(s.RepeatWindow))
}

func (l *line) fee(f ledger.Fee) {
	l.amount("fixed", f.Fixed)
	l.number("bps", f.BPS)
}
