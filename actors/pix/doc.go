// Package pix has the words of the field that the other packages share: ids of accounts,
// transactions, cases, subscriptions and events; amounts and instants; PIX keys, documents and
// end-to-end ids in the forms of the scheme and of the directory; kinds and statuses. It knows no
// rule about money, and reads no clock.
//
// Each id has one form for merchants and operators: String writes it, and a function that begins
// with Parse reads exactly that form. Values of types that say so are stored and never change their
// meaning.
package pix
