// Package httpapi is the merchant API: it takes a request through the eight checks in their
// order, turns the body into a command of the ledger, and writes the answer. It keeps no
// state except counters, and decides nothing about money.
//
// # For the caller
//
// New makes the handler from Options; NewServer a server with the limits on time and size that the
// handler relies on; Limit a listener that counts connections. Engine carries commands out, History
// answers lookups: whatever they return is durable, so it may be sent at once.
//
// # The way of a request
//
//	route.go      the table of routes: method, path, permission, handler
//	admission     Options.Closed and Options.Busy refuse new work before any check (503)
//	check.go      the eight checks, a line each, in the contract's order
//	payout.go …   a file for each resource: reads the fields, parses them (payoutform.go), asks the engine, renders the answer
//	errors.go     alone turns a refusal into a status and a body, in one of the four shapes
//	reply.go      status, headers, replay headers
//
// The answer to a request with an idempotency key is rendered by Renderer before its record is
// written, and stored with it: a replay sends the same bytes.
//
// # What may fail
//
// A refusal of the ledger is an answer. An error of the engine that says that nothing was journaled is
// a 500 or 503; after ledger.ErrCut, and where a handler panics, the connection is cut, because any
// status would claim an outcome. A request whose framing two readers could read differently is refused
// before it is parsed (framing.go).
//
// The packages below it serve operators (admin), the simulator's endpoints (sim) and the
// scheme's notices (notices); control and signed are the parts that those three share; qr and receipt
// draw.
package httpapi
