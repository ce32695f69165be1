// Package httpapi is the merchant API: it takes a request through the eight checks in their
// order, turns the body into a command of the ledger, and writes the answer. It keeps no
// state except counters, and decides nothing about money.
//
// The packages below it serve operators (admin), the simulator's endpoints (sim) and the
// scheme's notices (notices); control and signed are the parts that those three share.
package httpapi
