// Package sim plays the outside world: the directory, the scheme's settlement,
// the counterparties' banks and the customers who pay. It is a body of
// scheme.Scheme in the engine's process, with a durable book of its own in a
// folder of its own, so that neither a crash nor a restored snapshot of the
// engine changes what the scheme knows.
//
// Outcomes are chosen by the recipient key, as card schemes choose them by test
// card: see Script. What was submitted is durable before Submit answers;
// notices are delivered at least once, until the engine acknowledges them.
package sim
