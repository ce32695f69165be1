// Package audit compares accounts that must agree: the totals and the rows of payouts in
// flight with the records that they are from, and the engine's sums of settled payments
// with the scheme's. Books reads the accounts from one view of the journal; Report is what an
// operator is shown. It changes no money.
package audit
