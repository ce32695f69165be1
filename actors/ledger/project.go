package ledger

// Project is the rows one record writes and deletes: a pure function of that
// record alone, so that they can be rebuilt from the journal and nothing else.
// They are appended to rows in the order in which they apply.
func Project(rows []Row, r *Record) []Row {
	switch r.Kind {
	case AccountOpened, SettingsChanged:
		return rows
	case AnswerKept:
		return projectAnswer(rows, r)
	case Credited:
		rows = projectBooking(projectItem(rows, r), r)
		if r.Tx.Reference != "" {
			rows = append(rows, Row{ReferenceKey(r.Account, r.Tx.Reference), seqRow(r.Seq)})
		}
		return rows
	case ChargeCreated:
		return projectAnswer(projectItem(rows, r), r)
	case PaymentReceived:
		rows = projectBooking(projectItem(rows, r), r)
		return append(rows, Row{ReceivedKey(r.Tx.EndToEnd, r.Account), seqRow(r.Seq)})
	case PayoutHeld:
		return projectHold(rows, r)
	case PayoutAccepted, PayoutPending, PayoutQueued:
		return projectAnswer(projectOpen(rows, r), r)
	case PayoutApproved, PayoutRequeued, PayoutSending, PayoutSent:
		return projectOpen(rows, r)
	case PayoutRefused:
		rows = projectRefusal(rows, r)
		return projectAnswer(rows, r)
	case PayoutSettled, PayoutRejected, PayoutFailed:
		return projectEnd(projectBooking(projectItem(rows, r), r), r)
	case PayoutSettledLate:
		return projectBooking(projectItem(rows, r), r)
	case ReturnReceived:
		rows = projectBooking(projectItem(rows, r), r)
		return append(rows, Row{ReceivedKey(r.Tx.EndToEnd, r.Account), seqRow(r.Seq)})
	case PayoutReturned, PayoutRejectedAfterVoid:
		return projectItem(rows, r)
	}
	panic("ledger: projection of " + r.Kind.String())
}

// projectItem writes the item's place in the list; where the record is the
// first to show it, also the rows that find it.
func projectItem(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(rows, Row{ItemKey(r.Account, t.Ordinal), ItemRow{t.CreatedAt, r.Seq, t.Status, t.Kind}.encode()})
	if !r.shows() {
		return rows
	}
	rows = append(rows, Row{IDKey(t.ID.Short()), IDRow{r.Account, t.ID, t.Kind, t.Ordinal}.encode()})
	if t.ExternalID != "" {
		rows = append(rows, Row{ExternalKey(r.Account, t.ExternalID, t.Ordinal), []byte{}})
	}
	return rows
}

// projectOpen writes a payout in flight as it stands now: its item, its open row,
// its place in the directory's line, and what it waits for.
func projectOpen(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(projectItem(rows, r), Row{OpenKey(r.Account, t.ID), seqRow(r.Seq)})
	if m := r.Moved; m != nil {
		rows = append(rows, Row{EndToEndKey(m.EndToEnd), m.Row.encode()})
	}
	switch r.Kind {
	case PayoutQueued, PayoutRequeued:
		rows = append(rows, Row{QueueKey(t.Bucket.queue(r.Account), t.ID), queueRow(r.Account)})
	case PayoutSending:
		rows = append(rows, Row{Key: QueueKey(t.Bucket.queue(r.Account), t.ID)})
	}
	if r.DueWas == 0 {
		return rows
	}
	rows = append(rows, Row{Key: DueKey(r.DueWasKind, r.DueWas, r.Account, t.ID)})
	return append(rows, Row{t.dueKey(r.Account), seqRow(r.Seq)})
}

// shows tells whether the record is the first that shows its item: settling
// and completing only rewrite one that is there.
func (r *Record) shows() bool {
	switch r.Kind {
	case Credited, ChargeCreated, PayoutAccepted, PayoutPending, PayoutQueued, ReturnReceived:
		return true
	case PaymentReceived:
		return r.Tx.Kind == TxReceipt
	}
	return false
}

// books tells whether the record gives its item a final status in the statement.
func (r *Record) books() bool {
	switch r.Kind {
	case Credited, PaymentReceived, PayoutSettled, PayoutRejected, PayoutFailed, ReturnReceived:
		return true
	}
	return false
}

func projectBooking(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{StatementKey(r.Account, t.Booking), StatementRow{t.BookedAt, t.Ordinal, t.Status, t.Kind}.encode()})
}

// endToEndRow is the row that the record carries, else the payout's own.
func endToEndRow(r *Record) []byte {
	if r.Row != nil {
		return r.Row.encode()
	}
	return EndToEndRow{Account: r.Account, ID: r.Tx.ID, Seq: r.Seq}.encode()
}

// projectHold writes the due row and the end-to-end row: the payout's own, or
// the one it shares, which the record carries.
func projectHold(rows []Row, r *Record) []Row {
	t := r.Tx
	rows = append(rows, Row{t.dueKey(r.Account), seqRow(r.Seq)})
	if m := r.Moved; m != nil {
		rows = append(rows, Row{EndToEndKey(m.EndToEnd), m.Row.encode()})
	}
	return projectAnswer(append(rows, Row{EndToEndKeyOf(t), endToEndRow(r)}), r)
}

// projectRefusal undoes what the hold wrote; the end-to-end row stays, and names
// the refusal, so that the next request counts the attempt and a late notice finds
// its end.
func projectRefusal(rows []Row, r *Record) []Row {
	t := r.Tx
	return append(rows, Row{Key: t.dueKey(r.Account)}, Row{EndToEndKeyOf(t), endToEndRow(r)})
}

func projectEnd(rows []Row, r *Record) []Row {
	t := r.Tx
	if t.Bucket != 0 { // it may have stood in line
		rows = append(rows, Row{Key: QueueKey(t.Bucket.queue(r.Account), t.ID)})
	}
	return append(rows, Row{Key: OpenKey(r.Account, t.ID)}, Row{Key: t.dueKey(r.Account)})
}

// projectAnswer writes the claim, its answer, or, where the work was refused,
// takes the claim back.
func projectAnswer(rows []Row, r *Record) []Row {
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
