package ledger

// Project appends the rows that one record writes and deletes to rows, in the order in
// which they must be applied. They depend on that record alone, so that all rows can be
// rebuilt from the journal.
func Project(rows []Row, r *Record) []Row {
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
func itemRows(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{ItemKey(r.Account, t.Ordinal), ItemRow{t.CreatedAt, r.Seq, t.Status, t.Kind}.encode()})
}

// shownRows writes the rows that find a transaction by its ids; they come with the record
// that first shows the transaction to the merchant.
func shownRows(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(rows, Row{IDKey(t.ID.Short()), IDRow{r.Account, t.ID, t.Kind, t.Ordinal}.encode()})
	if t.ExternalID != "" {
		rows = append(rows, Row{ExternalKey(r.Account, t.ExternalID, t.Ordinal), []byte{}})
	}
	return rows
}

// openRows writes the rows of a payout or refund in flight: its item row, its open row, its
// place in a directory queue, and its due row.
func openRows(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(itemRows(rows, r), Row{OpenKey(r.Account, t.ID), seqRow(r.Seq)})
	if m := r.Moved; m != nil {
		rows = append(rows, Row{EndToEndKey(m.EndToEnd), m.Row.encode()})
	}
	switch r.Kind {
	case PayoutQueued, PayoutRequeued:
		rows = append(rows, Row{QueueKey(t.Payout.Bucket.Queue(r.Account), t.ID), queueRow(r.Account)})
	case PayoutSending:
		rows = append(rows, Row{Key: QueueKey(t.Payout.Bucket.Queue(r.Account), t.ID)})
	}
	if r.DueWas == 0 {
		return rows
	}
	rows = append(rows, Row{Key: DueKey(r.DueWasKind, r.DueWas, r.Account, EntityID(t.ID))})
	return append(rows, Row{t.dueKey(r.Account), seqRow(r.Seq)})
}

// statementRow writes the row that gives the transaction its place in the statement.
func statementRow(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{StatementKey(r.Account, t.Booking), StatementRow{t.BookedAt, t.Ordinal, t.Status, t.Kind}.encode()})
}

// referenceRow writes the row that finds a credit by its reference.
func referenceRow(rows []Row, r *Record) []Row {
	if r.Tx.Credit.Reference == "" {
		return rows
	}
	return append(rows, Row{ReferenceKey(r.Account, r.Tx.Credit.Reference), seqRow(r.Seq)})
}

// endToEndRow returns the end-to-end row that the record contains or, if it contains none,
// a row that names the record's payout alone.
func endToEndRow(r *Record) []byte {
	if r.Row != nil {
		return r.Row.encode()
	}
	return EndToEndRow{Account: r.Account, ID: r.Tx.ID, Seq: r.Seq}.encode()
}

// holdRows writes the due row of a hold and its end-to-end row. The end-to-end row names
// the payout alone or, where other payouts have the same id, is taken from the record.
func holdRows(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(rows, Row{t.dueKey(r.Account), seqRow(r.Seq)})
	if m := r.Moved; m != nil {
		rows = append(rows, Row{EndToEndKey(m.EndToEnd), m.Row.encode()})
	}
	return append(rows, Row{EndToEndKeyOf(t), endToEndRow(r)})
}

// refusalRows deletes the due row of the hold. The end-to-end row stays and leads to the
// refusal, so that the next request counts this attempt, and a late notice finds how the
// payout ended.
func refusalRows(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{Key: t.dueKey(r.Account)}, Row{EndToEndKeyOf(t), endToEndRow(r)})
}

// refundHoldRows writes the due row of a refund's hold, and the row that finds the refund by
// its D id.
func refundHoldRows(rows []Row, r *Record) []Row {
	return refundRow(append(rows, Row{r.Tx.dueKey(r.Account), seqRow(r.Seq)}), r)
}

// refundRow writes the row that finds a refund by its D id.
func refundRow(rows []Row, r *Record) []Row {
	return append(rows, Row{EndToEndKey(r.Tx.EndToEnd), EndToEndRow{Account: r.Account, ID: r.Tx.ID, Seq: r.Seq}.encode()})
}

// endRows deletes the queue row, open row and due row of a transfer that has a final status.
func endRows(rows []Row, r *Record) []Row {
	t := r.Tx
	if t.Payout.Bucket != 0 { // the payout may have a queue row
		rows = append(rows, Row{Key: QueueKey(t.Payout.Bucket.Queue(r.Account), t.ID)})
	}
	return append(rows, Row{Key: OpenKey(r.Account, t.ID)}, Row{Key: t.dueKey(r.Account)})
}

// answerRow writes the row of an idempotency claim, with or without an answer. Where the
// payout was refused, it deletes the row.
func answerRow(rows []Row, r *Record) []Row {
	c := r.Claim
	if c == nil {
		return rows
	}
	row := Row{Key: IdempotencyKey(c.Bucket, r.Account, c.Scope)}
	if r.Kind != PayoutRefused {
		value := IdempotencyRow{Answered: r.Stored != nil, Doubted: c.Doubted, Seq: r.Seq, At: c.At, BodyHash: c.BodyHash}
		switch {
		case r.Tx != nil:
			value.Tx = r.Tx.ID
		case r.Case != nil:
			value.Tx = TxID(r.Case.ID)
		}
		row.Value = value.encode()
	}
	return append(rows, row)
}
