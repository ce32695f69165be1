package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Project appends the rows that one record writes and deletes to rows, in the order in
// which they must be applied. They depend on that record alone, so that all rows can be
// rebuilt from the journal.
func Project(rows []layout.Row, r *Record) []layout.Row {
	if of := r.Kind.row().rows; of != nil {
		rows = of(rows, r)
	}
	if r.shows() {
		rows = shownRows(rows, r)
	}
	rows = pendingRows(rows, r)
	return rows
}

// itemRows writes the item row, the transaction's place in the list of items.
func itemRows(rows []layout.Row, r *Record) []layout.Row {
	t := r.Tx
	return append(rows, layout.Row{Key: layout.ItemKey(r.Account, t.Ordinal), Value: layout.ItemRow{CreatedAt: t.CreatedAt, Seq: r.Seq, Status: t.Status, Kind: t.Kind}.Encode()})
}

// shownRows writes the rows that find a transaction by its ids; they come with the record
// that first shows the transaction to the merchant.
func shownRows(rows []layout.Row, r *Record) []layout.Row {
	t := r.Tx
	rows = append(rows, layout.Row{Key: layout.IDKey(t.ID.Short()), Value: layout.IDRow{Account: r.Account, ID: t.ID, Kind: t.Kind, Ordinal: t.Ordinal}.Encode()})
	if t.ExternalID != "" {
		rows = append(rows, layout.Row{Key: layout.ExternalKey(r.Account, t.ExternalID, t.Ordinal), Value: []byte{}})
	}
	return rows
}

// openRows writes the rows of a payout or refund in flight: its item row, its open row, its
// place in a directory queue, and its due row.
func openRows(rows []layout.Row, r *Record) []layout.Row {
	t := r.Tx
	rows = openRow(itemRows(rows, r), r)
	if m := r.Moved; m != nil {
		rows = append(rows, layout.Row{Key: layout.EndToEndKey(m.EndToEnd), Value: m.Row.Encode()})
	}
	switch r.Kind {
	case PayoutQueued, PayoutRequeued:
		rows = append(rows, layout.Row{Key: layout.QueueKey(layout.QueueFor(t.Payout.Bucket, r.Account), t.ID), Value: layout.QueueRow(r.Account)})
	case PayoutSending, PayoutReleased:
		rows = append(rows, layout.Row{Key: layout.QueueKey(layout.QueueFor(t.Payout.Bucket, r.Account), t.ID)})
	}
	if r.DueWas == 0 {
		return rows
	}
	rows = append(rows, layout.Row{Key: layout.DueKey(r.DueWasKind, r.DueWas, r.Account, layout.EntityID(t.ID))})
	return append(rows, layout.Row{Key: t.dueKey(r.Account), Value: layout.SeqRow(r.Seq)})
}

// openRow writes the row that says that a payout or refund is in flight.
func openRow(rows []layout.Row, r *Record) []layout.Row {
	return append(rows, layout.Row{Key: layout.OpenKey(r.Account, r.Tx.ID), Value: layout.SeqRow(r.Seq)})
}

// suffixRows writes the rows by which the transaction of the record is found beside its own id.
func suffixRows(rows []layout.Row, r *Record) []layout.Row {
	for _, s := range r.Suffixes {
		rows = append(rows, layout.Row{Key: layout.SuffixKey(s), Value: layout.EndToEndRow{Account: r.Account, ID: r.Tx.ID, Seq: r.Seq}.Encode()})
	}
	return rows
}

// openAgain writes the rows of a payout or refund that was in flight before. Its open row is
// deleted first, because open rows are set once; see layout.SetOnce.
func openAgain(rows []layout.Row, r *Record) []layout.Row {
	return openRows(append(rows, layout.Row{Key: layout.OpenKey(r.Account, r.Tx.ID)}), r)
}

// statementRow writes the row that gives the transaction its place in the statement.
func statementRow(rows []layout.Row, r *Record) []layout.Row {
	t := r.Tx
	return append(rows, layout.Row{Key: layout.StatementKey(r.Account, t.Booking), Value: layout.StatementRow{BookedAt: t.BookedAt, Ordinal: t.Ordinal, Status: t.Status, Kind: t.Kind}.Encode()})
}

// referenceRow writes the row that finds a credit by its reference.
func referenceRow(rows []layout.Row, r *Record) []layout.Row {
	if r.Tx.Credit.Reference == "" {
		return rows
	}
	return append(rows, layout.Row{Key: layout.ReferenceKey(r.Account, r.Tx.Credit.Reference), Value: layout.SeqRow(r.Seq)})
}

// endToEndRow returns the end-to-end row that the record contains or, if it contains none,
// a row that names the record's payout alone.
func endToEndRow(r *Record) []byte {
	if r.Row != nil {
		return r.Row.Encode()
	}
	return layout.EndToEndRow{Account: r.Account, ID: r.Tx.ID, Seq: r.Seq}.Encode()
}

// holdRows writes the due row of a hold and its end-to-end row. The end-to-end row names
// the payout alone or, where other payouts have the same id, is taken from the record.
func holdRows(rows []layout.Row, r *Record) []layout.Row {
	t := r.Tx
	rows = append(rows, layout.Row{Key: t.dueKey(r.Account), Value: layout.SeqRow(r.Seq)})
	if m := r.Moved; m != nil {
		rows = append(rows, layout.Row{Key: layout.EndToEndKey(m.EndToEnd), Value: m.Row.Encode()})
	}
	return append(rows, layout.Row{Key: EndToEndKeyOf(t), Value: endToEndRow(r)})
}

// refusalRows deletes the due row of the hold. The end-to-end row stays and leads to the
// refusal, so that the next request counts this attempt, and a late notice finds how the
// payout ended.
func refusalRows(rows []layout.Row, r *Record) []layout.Row {
	t := r.Tx
	return append(rows, layout.Row{Key: t.dueKey(r.Account)}, layout.Row{Key: EndToEndKeyOf(t), Value: endToEndRow(r)})
}

// refundHoldRows writes the due row of a refund's hold, and the row that finds the refund by
// its D id.
func refundHoldRows(rows []layout.Row, r *Record) []layout.Row {
	return refundRow(append(rows, layout.Row{Key: r.Tx.dueKey(r.Account), Value: layout.SeqRow(r.Seq)}), r)
}

// refundRow writes the row that finds a refund by its D id.
func refundRow(rows []layout.Row, r *Record) []layout.Row {
	return append(rows, layout.Row{Key: layout.EndToEndKey(r.Tx.EndToEnd), Value: layout.EndToEndRow{Account: r.Account, ID: r.Tx.ID, Seq: r.Seq}.Encode()})
}

// endRows deletes the queue row, open row and due row of a transfer that has a final status.
func endRows(rows []layout.Row, r *Record) []layout.Row {
	t := r.Tx
	if t.Payout.Bucket != 0 { // the payout may have a queue row
		rows = append(rows, layout.Row{Key: layout.QueueKey(layout.QueueFor(t.Payout.Bucket, r.Account), t.ID)})
	}
	return append(rows, layout.Row{Key: layout.OpenKey(r.Account, t.ID)}, layout.Row{Key: t.dueKey(r.Account)})
}

// answerRow writes the row of an idempotency claim, with or without an answer. Where the
// payout was refused, it deletes the row.
func answerRow(rows []layout.Row, r *Record) []layout.Row {
	c := r.Claim
	if c == nil {
		return rows
	}
	row := layout.Row{Key: layout.IdempotencyKey(c.Bucket, r.Account, c.Scope)}
	if r.Kind != PayoutRefused {
		value := layout.IdempotencyRow{Answered: r.Stored != nil, Doubted: c.Doubted, Seq: r.Seq, At: c.At, BodyHash: c.BodyHash}
		switch {
		case r.Tx != nil:
			value.Tx = r.Tx.ID
		case r.Case != nil:
			value.Tx = pix.TxID(r.Case.ID)
		}
		row.Value = value.Encode()
	}
	return append(rows, row)
}

// caseRows writes a case's rows: its place in the list, the row of its id, the row of the
// report that opened it, what it holds, what it lacks, its due row, and the refund sums of its
// payment.
func caseRows(rows []layout.Row, r *Record) []layout.Row {
	c := r.Case
	rows = append(rows,
		layout.Row{Key: layout.CaseKey(r.Account, c.Ordinal), Value: layout.CaseRow{Seq: r.Seq, Status: c.Status}.Encode()},
		layout.Row{Key: layout.CaseIDKey(c.ID), Value: layout.CaseIDRow{Account: r.Account, Ordinal: c.Ordinal, Status: c.Status}.Encode()})
	if r.Prev == 0 {
		rows = append(rows, layout.Row{Key: layout.InfractionKey(c.Infraction, r.Account), Value: layout.InfractionRow(c.Ordinal)})
	}
	switch {
	case c.Held > 0:
		rows = append(rows, layout.Row{Key: layout.HoldingKey(r.Account, c.Ordinal), Value: layout.Holding{Held: c.Held, Owed: c.Owed() > 0}.Encode()})
	case r.HeldWas > 0:
		rows = append(rows, layout.Row{Key: layout.HoldingKey(r.Account, c.Ordinal)})
	}
	switch {
	case c.Short > 0:
		rows = append(rows, layout.Row{Key: layout.LackingKey(r.Account, c.Original, c.Ordinal), Value: []byte{}})
	case r.ShortWas > 0:
		rows = append(rows, layout.Row{Key: layout.LackingKey(r.Account, c.Original, c.Ordinal)})
	}
	if r.DueWas != 0 {
		rows = append(rows, layout.Row{Key: layout.DueKey(layout.DueCase, r.DueWas, r.Account, layout.EntityID(c.ID))})
	}
	if c.DueAt != 0 {
		rows = append(rows, layout.Row{Key: layout.DueKey(layout.DueCase, c.DueAt, r.Account, layout.EntityID(c.ID)), Value: layout.SeqRow(r.Seq)})
	}
	if r.Sums != nil {
		rows = sumsRow(rows, r)
	}
	return rows
}

// receivedRow writes the row that finds a received payment or return by its end-to-end id. The
// row of a payment contains what a refund needs of it, so that a refund reads no record.
func receivedRow(rows []layout.Row, r *Record) []layout.Row {
	row := layout.ReceivedRow{Seq: r.Seq, Payment: originalOf(r.Tx)}
	return append(rows, layout.Row{Key: layout.ReceivedKey(r.Tx.EndToEnd, r.Account), Value: row.Encode()})
}

// sumsRow writes the refund sums that a record contains.
func sumsRow(rows []layout.Row, r *Record) []layout.Row {
	return append(rows, layout.Row{Key: layout.RefundSumsKey(r.Account, r.Sums.Original), Value: r.Sums.Encode()})
}

// Waiting returns the deliveries that the record causes, as their rows say.
func (r *Record) Waiting() []layout.Pending {
	all := make([]layout.Pending, len(r.Deliveries))
	for i, d := range r.Deliveries {
		all[i] = layout.Pending{
			Target: layout.Target{Account: r.Account, Number: d.Subscription}, Due: r.Time, Sequence: r.firstEvent() + uint64(d.Event),
			Record: r.Seq, Event: d.Event,
		}
	}
	return all
}

// pendingRows writes the row of each delivery that the record causes.
func pendingRows(rows []layout.Row, r *Record) []layout.Row {
	for _, p := range r.Waiting() {
		rows = append(rows, layout.Row{Key: p.Key(), Value: p.Value()})
	}
	return rows
}

// subscriptionRow writes the row that leads to the subscription's newest record.
func subscriptionRow(rows []layout.Row, r *Record) []layout.Row {
	return append(rows, layout.Row{Key: layout.SubscriptionKey(r.Account, r.Subscription.ID.Number()), Value: layout.SeqRow(r.Seq)})
}
