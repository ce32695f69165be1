// Package sim plays the outside world: the directory, the scheme's settlement,
// the counterparties' banks and the customers who pay. It is a body of
// scheme.Scheme in the engine's process, with a durable book of its own in a
// folder of its own, so that neither a crash nor a restored snapshot of the
// engine changes what the scheme knows.
//
// Outcomes are chosen by the recipient key, as card schemes choose them by test
// card: see Script. What was submitted is durable before Submit answers;
// notices are delivered at least once, until the engine acknowledges them.
//
// The book also has what it comes to: a movement is written with what makes it
// settle and counts from its instant on; sums are kept to a mark among the
// movements and written together with it (sums.go).
//
// Which notice is delivered when is a machine with explicit time (outbox.go).
// Start puts a goroutine around it; Due and NextDue hand it to a simulation that
// keeps everything in one goroutine, on a Store of its own. The same calls, clock
// and entropy then make the same book, byte for byte.
package sim
