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
	l.add("position", position)
	l.add("stream", stream)
	l.add("sequence", seq)
	l.add("time", at.String())
	l.add("kind", kind)
	return l
}

func (l *line) body(r *ledger.Record) {
	l.object("totals", func() { l.totals(&r.Totals) })
	optional(l, "transaction", r.Tx, l.transaction)
	optional(l, "settings", r.Settings, l.settings)
	l.events(r)
	l.claim(r.Claim)
	optional(l, "answer", r.Stored, l.answer)
	optional(l, "moved_row", r.Moved, func(m *ledger.Moved) {
		l.add("end_to_end_id", m.EndToEnd)
		l.object("row", func() { l.row(&m.Row) })
	})
	optional(l, "end_to_end_row", r.Row, l.row)
	l.add("due_was", r.DueWas)
	word(l, "due_kind_was", r.DueWasKind, dueKinds[:])
	l.add("previous", r.Prev)
	optional(l, "refund_sums", r.Sums, l.sums)
	optional(l, "case", r.Case, l.specialReturn)
	l.add("held_was", r.HeldWas)
	l.add("owed_was", r.OwedWas)
	l.add("short_was", r.ShortWas)
	optional(l, "subscription", r.Subscription, l.subscription)
	l.objects("deliveries", len(r.Deliveries), func(i int) {
		l.integer("event", int64(r.Deliveries[i].Event)) // an index from 0
		l.add("subscription", uint64(r.Deliveries[i].Subscription))
	})
}

func (l *line) totals(t *ledger.Totals) {
	l.add("balance", t.Balance)
	l.add("held", t.Held)
	l.add("med_held", t.MEDHeld)
	l.add("items", t.Items)
	l.add("bookings", t.Bookings)
	l.add("events", t.Events)
	l.add("owed", t.Owed)
	l.add("cases", t.Cases)
	l.add("subscriptions", t.Subscriptions)
}

// events writes a record's events. Id and sequence are not in the record, but follow from it.
func (l *line) events(r *ledger.Record) {
	l.objects("events", len(r.Events), func(i int) {
		said(l, "type", r.Events[i], lastEvent)
		if r.Tx != nil || r.Case != nil { // the ids are made of the transaction's or the case's
			e := r.Event(i)
			l.add("id", e.ID.String())
			l.add("sequence", e.Sequence)
		}
	})
}

func (l *line) claim(c *ledger.Claim) {
	optional(l, "claim", c, func(c *ledger.Claim) {
		l.add("scope", c.Scope)
		if c.Bucket != 0 {
			l.add("day", time.Unix(int64(c.Bucket)*24*60*60, 0).UTC().Format(time.DateOnly))
		}
		l.add("at", c.At)
		l.add("body_hash", c.BodyHash)
		word(l, "style", c.Style, styles[:])
		l.add("doubted", c.Doubted)
	})
}

func (l *line) row(r *layout.EndToEndRow) {
	l.add("account", r.Account)
	l.add("id", r.ID)
	l.add("sequence", r.Seq)
	l.objects("shared_by", len(r.Members), func(i int) {
		l.add("id", r.Members[i].ID)
		l.add("sequence", r.Members[i].Seq)
	})
}

func (l *line) settings(s *ledger.Settings) {
	l.add("name", s.Name)
	l.add("document", s.Document)
	l.add("city", s.City)
	l.object("cash_in_fee", func() { l.fee(s.CashInFee) })
	l.object("cash_out_fee", func() { l.fee(s.CashOutFee) })
	l.add("cash_out_ceiling", s.CashOutCeiling)
	if s.ApprovalThreshold != nil { // 0 is a threshold too: every payout waits
		l.integer("approval_threshold", int64(*s.ApprovalThreshold))
	}
	l.add("block_cnpj_out", s.BlockCNPJOut)
	l.texts("authorized_cnpjs", s.AuthorizedCNPJs)
	l.add("repeat_window_ms", int64(s.RepeatWindow))
}

func (l *line) fee(f ledger.Fee) {
	l.add("fixed", f.Fixed)
	l.add("bps", f.BPS)
}
