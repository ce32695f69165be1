package ledger

// Life is what the store has about one transaction.
type Life struct {
	Owned
	// Records are about the transaction, about the refunds of a received payment, the returns of a
	// payout, and the cases of a received payment or the one that a refund was made for, in the
	// order of their sequences.
	Records []*Record
	// Original is the payment that a refund gives back, or the payout that a return does; nil: the
	// transaction is neither, or the journal lacks it.
	Original *Transaction
	// Deliveries are of the events of the transaction and its cases. The Status of one is nil once
	// the row was dropped that had it.
	Deliveries []DeliveryItem
	Complete   bool // false: a bound was met, and something is left out
}
