// Package webhook delivers the events of merchants' accounts to the URLs that the merchants
// subscribed: at least once each, signed, and again on a schedule until the receiver has
// acknowledged the event or the delivery is dead.
//
// A record of an account that causes events names the subscriptions that get them, and writes
// one row for each such delivery (layout.Pending), in the batch of the record itself. Nothing
// else makes a delivery. Once the record is durable, Dispatcher.Emitted hears of it; a start
// finds what earlier processes left by the rows alone.
//
// Machine decides which deliveries are attempted when. Dispatcher is its shell: child actors
// make the attempts (Sender.Post), and what follows from a result is written as rows, which no
// record derives, through the same journal. Targets decides which addresses may be called.
package webhook
