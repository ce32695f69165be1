// Package audit compares books: an account's records with the totals in them and with the
// rows of its work in flight, and the sums that the engine has settled with the scheme's
// sums. It only computes: its callers read the data, and it decides nothing about money.
package audit
