package recordjson

import (
	"reflect"
	"strconv"
	"time"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi"
)

// fieldWriters are for fields that are not written as others of their type.
var fieldWriters = map[string]writer{
	"ledger.Body.Events":           writeEvents,
	"ledger.Transaction.ID":        writeTransactionID,
	"pix.Party.Document":           writeDocument,
	"ledger.ReturnPart.Original":   originalOf(pix.TxPayout),
	"ledger.RefundPart.Original":   originalOf(pix.TxReceipt),
	"ledger.Case.Original":         originalOf(pix.TxReceipt),
	"layout.RefundSums.Original":   originalOf(pix.TxReceipt),
	"ledger.Stored.Body":           writeAnswer,
	"ledger.Claim.Bucket":          writeDay,
	"ledger.Settings.RepeatWindow": writeInteger,
}

// writeEvents writes a record's events. Id and sequence are not in the record, but follow from it.
func writeEvents(l *line, name string, v reflect.Value) {
	r := l.record
	l.list(name, v.Len(), func(i int) {
		l.object("", func() {
			if r.Events[i] != 0 {
				l.text("type", r.Events[i].String())
			}
			if r.Tx != nil || r.Case != nil || r.Subscription != nil { // the ids are made of theirs
				e := r.Event(i)
				l.text("id", e.ID.String())
				l.positive("sequence", e.Sequence)
			}
		})
	})
}

// writeTransactionID writes a transaction's id and before it the transaction_id that is made of
// it. A kind without a name has no prefix for one.
func writeTransactionID(l *line, name string, _ reflect.Value) {
	t := l.record.Tx
	if int(t.Kind) < len(txKinds) && t.Kind != 0 {
		l.text("transaction_id", t.Public())
	}
	l.text(name, t.ID.String())
}

// originalOf writes the transaction_id and the id of an earlier transaction of a kind.
func originalOf(kind pix.TxKind) writer {
	return func(l *line, _ string, v reflect.Value) {
		id := v.Interface().(pix.TxID)
		l.text("original_transaction_id", id.Public(kind))
		l.text("original_id", id.String())
	}
}

// writeDocument writes the counterparty's document as the merchant sees it: the directory's CPF
// of a recipient is masked.
func writeDocument(l *line, name string, v reflect.Value) {
	document := v.String()
	if t := l.record.Tx; t.Kind == pix.TxPayout {
		document = httpapi.RecipientDocument(t)
	}
	l.text(name, document)
}

// writeDay writes a number of days since 1970-01-01 as a date.
func writeDay(l *line, name string, v reflect.Value) {
	l.text(name, time.Unix(int64(v.Uint())*24*60*60, 0).UTC().Format(time.DateOnly))
}

// permission returns the name of the permission with a bit.
func permission(bit int) string {
	if names := registry.Permissions(1 << bit).Names(); len(names) == 1 {
		return names[0]
	}
	return strconv.Itoa(1 << bit)
}
