// Package forward passes HTTP requests from the node that a client has reached to the node that
// runs the engine, the owner, and the owner's answers back to the client. A request is passed on
// as it came: the owner judges it as if the client had reached the owner itself.
//
// A request goes out with its method, target, version, header lines and body as they were
// received. Only the lines that are about the client's connection are left out (Connection,
// Keep-Alive, Proxy-Connection, TE, Upgrade), and those with which a client could pretend to be
// another (Pixd-Forwarded-*). Headers that Connection names are kept: the nodes are one server
// together, so a header must not disappear because of the node that a client has reached. What
// belongs to the hop is made again on each: Connection, and the sizes of chunks.
//
// # What was done
//
// An answer is about money, so each failure falls into one of two kinds.
//
//   - Nothing was done: there is no owner, no connection to it can be had, no byte of the request
//     was written, or the other node says that it is not the owner, which it says before anything
//     else. The request is routed again until its patience is over, and then refused.
//   - Anything else, once a byte of the request was written and the whole answer has not come:
//     nobody here knows the outcome. The client's connection is cut without an answer.
//
// No request is ever sent a second time after a byte of it was written, whatever its method is.
//
// # Idle connections
//
// A write to a connection that its other end has just closed succeeds, so a request that meets a
// dead idle connection would count as sent, and its client would be cut. Four things keep that
// rare. An idle connection is closed after idleFor, long before the owner closes it. Before each
// use the kernel is asked whether the other end has closed or sent anything. A connection that is
// new, or was idle for greetAfter, is greeted: a question without content, which the owner's
// listener answers by itself, must be answered within greetFor before a request is written. And
// when the owner changes, or a connection fails, all idle connections to it are closed. What
// remains is an owner that closes in the very moment in which a request is under way to it.
//
// The greeting also proves that the owner has accepted this node's certificate, which TLS 1.3
// alone does not: a client may write before the server has looked at its certificate.
//
// # Bounds
//
// At most maxConns requests are at the owner at once; the others wait for a place as long as their
// patience is. An answer of up to wholeAnswer bytes is read before anything of it is sent. Longer
// ones, and those of unknown length, are passed on piece by piece, as they arrive. There is no
// limit to the time that an answer takes: a payout may take its time, and the engine has limits of
// its own. Where the owner has changed, requests to which the earlier one has not begun an answer are
// cut after lastHeads, because a machine that has lost its power never closes a connection, and one
// that has stopped keeps it; answers that have begun are cut after lastAnswers.
package forward
