// Package audit holds books against each other: an account's records against the
// totals they carry and the rows that stand for its work in flight, and what the
// engine has settled against what the scheme has. It is arithmetic alone: it
// reads what it is given, and decides nothing about money.
package audit
