package layout

import (
	"encoding/binary"

	"pixd/actors/pix"
)

// SubscriptionKey is the key of the row that leads to a subscription's newest record.
func SubscriptionKey(a pix.AccountID, number uint32) []byte {
	return binary.BigEndian.AppendUint32(accountKey(rowSubscription, a, 4), number)
}

// SubscriptionsOf is the key range of an account's subscriptions, removed ones included, in
// the order in which they were made.
func SubscriptionsOf(a pix.AccountID) (lo, hi []byte) { return accountRange(rowSubscription, a) }

// AllSubscriptions is the key range of all accounts' subscriptions, by account.
func AllSubscriptions() (lo, hi []byte) {
	return []byte{rowSubscription}, []byte{rowSubscription + 1}
}

// DecodeSubscriptionKey reads the account and the number from the key of a subscription's row.
func DecodeSubscriptionKey(k []byte) (pix.AccountID, uint32, error) {
	if len(k) != 1+8+4 || k[0] != rowSubscription {
		return 0, 0, shortRow("subscription key", k)
	}
	return pix.AccountID(binary.BigEndian.Uint64(k[1:])), binary.BigEndian.Uint32(k[9:]), nil
}
