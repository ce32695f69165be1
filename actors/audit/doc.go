// Package audit compares accounts that must agree: the totals and the rows of payouts in
// flight with the records that they are from, and the engine's sums of settled payments
// with the scheme's. It only computes: its callers read the data, and it changes no money.
package audit
