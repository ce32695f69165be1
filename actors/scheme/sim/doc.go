// Package sim simulates the world outside the engine: the directory, the scheme's settlement,
// the counterparties' banks and the customers who pay. It implements scheme.Scheme in the
// engine's process. It has a durable book of its own in a folder of its own, so that neither
// a crash nor a restored snapshot of the engine changes what the scheme knows.
//
// The recipient key chooses a payment's outcome, as test card numbers choose outcomes of card
// payments: see the function script. A payment is durable before Submit answers. A notice is
// delivered at least once, until the engine acknowledges it.
//
// The book also has sums: a movement is written together with the payment that it settles,
// and counts from its own time on; sums up to a mark among the movements are written together
// with that mark (sums.go).
//
// The choice of the next notice is a machine with explicit time (outbox.go). Start runs it in
// a goroutine; a simulation calls Due and NextDue instead, and keeps everything in one
// goroutine, with a Store of its own. The same calls, clock and entropy then make the same
// book, byte for byte.
package sim
