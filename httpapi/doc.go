// Package httpapi is the merchants' side of the engine: it takes a request
// through the eight checks in their order, reads the body's shape into a command
// of the ledger, and writes the answer. It holds no state of its own and decides
// nothing about money.
//
// The packages below it are the operators': admin, and sim where the simulator runs.
package httpapi
