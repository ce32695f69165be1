package ledger

// Project is the rows one record writes and deletes: a pure function of that
// record alone, so that they can be rebuilt from the journal and nothing else.
// They are appended to rows in the order in which they apply.
func Project(rows []Row, r *Record) []Row {
	if of := r.Kind.row().rows; of != nil {
		rows = of(rows, r)
	}
	if r.shows() {
		rows = shownRows(rows, r)
	}
	return rows
}

// itemRows writes the item's place in the list.
func itemRows(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{ItemKey(r.Account, t.Ordinal), ItemRow{t.CreatedAt, r.Seq, t.Status, t.Kind}.encode()})
}

// shownRows writes the rows that find an item which the record is the first to show.
func shownRows(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(rows, Row{IDKey(t.ID.Short()), IDRow{r.Account, t.ID, t.Kind, t.Ordinal}.encode()})
	if t.ExternalID != "" {
		rows = append(rows, Row{ExternalKey(r.Account, t.ExternalID, t.Ordinal), []byte{}})
	}
	return rows
}

// openRows writes a payout in flight as it stands now: its item, its open row,
// its place in the directory's line, and what it waits for.
func openRows(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(itemRows(rows, r), Row{OpenKey(r.Account, t.ID), seqRow(r.Seq)})
	if m := r.Moved; m != nil {
		rows = append(rows, Row{EndToEndKey(m.EndToEnd), m.Row.encode()})
	}
	switch r.Kind {
	case PayoutQueued, PayoutRequeued:
		rows = append(rows, Row{QueueKey(t.Payout.Bucket.queue(r.Account), t.ID), queueRow(r.Account)})
	case PayoutSending:
		rows = append(rows, Row{Key: QueueKey(t.Payout.Bucket.queue(r.Account), t.ID)})
	}
	if r.DueWas == 0 {
		return rows
	}
	rows = append(rows, Row{Key: DueKey(r.DueWasKind, r.DueWas, r.Account, EntityID(t.ID))})
	return append(rows, Row{t.dueKey(r.Account), seqRow(r.Seq)})
}

// statementRow writes the place in the statement.
func statementRow(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{StatementKey(r.Account, t.Booking), StatementRow{t.BookedAt, t.Ordinal, t.Status, t.Kind}.encode()})
}

// referenceRow writes where a credit is found by its reference.
func referenceRow(rows []Row, r *Record) []Row {
	if r.Tx.Credit.Reference == "" {
		return rows
	}
	return append(rows, Row{ReferenceKey(r.Account, r.Tx.Credit.Reference), seqRow(r.Seq)})
}

// receivedRow writes where money that came in is found by its end-to-end id.
func receivedRow(rows []Row, r *Record) []Row {
	return append(rows, Row{ReceivedKey(r.Tx.EndToEnd, r.Account), seqRow(r.Seq)})
}

// endToEndRow is the row that the record carries, else the payout's own.
func endToEndRow(r *Record) []byte {
	if r.Row != nil {
		return r.Row.encode()
	}
	return EndToEndRow{Account: r.Account, ID: r.Tx.ID, Seq: r.Seq}.encode()
}

// holdRows writes the due row and the end-to-end row: the payout's own, or
// the one it shares, which the record carries.
func holdRows(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(rows, Row{t.dueKey(r.Account), seqRow(r.Seq)})
	if m := r.Moved; m != nil {
		rows = append(rows, Row{EndToEndKey(m.EndToEnd), m.Row.encode()})
	}
	return append(rows, Row{EndToEndKeyOf(t), endToEndRow(r)})
}

// refusalRows undoes what the hold wrote; the end-to-end row stays, and names
// the refusal, so that the next request counts the attempt and a late notice finds
// its end.
func refusalRows(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{Key: t.dueKey(r.Account)}, Row{EndToEndKeyOf(t), endToEndRow(r)})
}

// endRows deletes what stood for the work in flight.
func endRows(rows []Row, r *Record) []Row {
	t := r.Tx
	if t.Payout.Bucket != 0 { // it may have stood in line
		rows = append(rows, Row{Key: QueueKey(t.Payout.Bucket.queue(r.Account), t.ID)})
	}
	return append(rows, Row{Key: OpenKey(r.Account, t.ID)}, Row{Key: t.dueKey(r.Account)})
}

// answerRow writes the claim, its answer, or, where the work was refused,
// takes the claim back.
func answerRow(rows []Row, r *Record) []Row {
	c := r.Claim
	if c == nil {
		return rows
	}
	row := Row{Key: IdempotencyKey(c.Bucket, r.Account, c.Scope)}
	if r.Kind != PayoutRefused {
		value := IdempotencyRow{Answered: r.Stored != nil, Doubted: c.Doubted, Seq: r.Seq, At: c.At, BodyHash: c.BodyHash}
		if r.Tx != nil {
			value.Tx = r.Tx.ID
		}
		row.Value = value.encode()
	}
	return append(rows, row)
}
