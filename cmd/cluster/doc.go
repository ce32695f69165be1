// Package cluster runs a node: one of several processes, mostly on as many machines, that have the
// same journal. One of them owns the journal's log and runs the engine; the others follow, and
// forward the requests that reach them to the owner. If the owner is lost, one of the others takes
// over, which is a restart of the engine on another machine.
//
// # Who is the owner
//
// Every node renews its state in the log every renewEvery. It is certain to be the owner for
// certainFor from the sending of a renewal that has succeeded. Another node takes over once it has
// seen no renewal for takeAfter, which is longer, so the clocks of two machines may differ in rate by
// a quarter. It takes over in one step with three conditions: the log ends where the taker has it,
// the owner has not renewed itself since it was seen, and from then on it never can. Whatever the
// former owner adds to the log later is refused, and whatever it has read leaves through a gate that
// asks first whether the node is certain (wal.Lead.Certain).
//
// # The order of things
//
// Serve takes the ports, connects to the log, opens the journal, agrees with the other nodes on
// what the cluster is, and follows. From then on the node is ready: it forwards. When it has become
// the owner it opens the engine over the same journal, and gives it the ports.
package cluster
