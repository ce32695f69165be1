// Package layout has the keys and values of the rows that stand beside an account's records: lists,
// look-ups, due times, queues, idempotency claims, sums of refunds, cases, deliveries. docs/formats.md
// shows each byte of them.
//
// For each kind of row there is a function that makes its key (ItemKey), a type for its value with
// Encode (ItemRow), a function that decodes what is stored (DecodeItemRow; an error says that the
// bytes cannot be such a row), and functions for the key ranges that are scanned (ItemsOf). Ranges are
// half open: lo is included, hi is not.
//
// The ledger makes the rows (ledger.Project), each from one record alone; whoever reads lists or due
// times needs this package and not the ledger. Two kinds are not made of records: what became of a
// delivery (DeliveryStatus), and a head row's value, which the account's machine makes.
package layout
