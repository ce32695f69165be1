package ledger

import "encoding/binary"

// RowName returns the name that docs/formats.md gives to the kind of row with this key;
// empty for a key that is not a ledger row's.
func RowName(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return rowNames[key[0]]
}

var rowNames = map[byte]string{
	rowEndToEnd: "end-to-end", rowReceived: "received", rowDue: "due", rowHead: "head", rowID: "id",
	rowIdempotency: "idempotency", rowOpen: "open", rowQueue: "queue", rowSharedQueue: "queue", rowReference: "reference",
	rowRefunds: "refund sums", rowCase: "case", rowCaseID: "case id", rowInfraction: "infraction", rowHolding: "holding",
	rowPending: "pending delivery", rowDelivered: "delivery status", rowSubscription: "subscription",
	rowStatement: "statement", rowItem: "item", rowExternal: "external id",
}

// HeadOwner reads the account from the key of a head row; false for any other key.
func HeadOwner(key []byte) (AccountID, bool) {
	if len(key) != 1+8 || key[0] != rowHead {
		return 0, false
	}
	return AccountID(binary.BigEndian.Uint64(key[1:])), true
}

// IsIdempotency tells whether a key is that of an idempotency row.
func IsIdempotency(key []byte) bool { return len(key) == 1+2+8+16 && key[0] == rowIdempotency }
