// Package provider is the scheme in another process: messages in JSON over HTTP, signed
// both ways. Provider is the body of scheme.Scheme with which an engine calls the scheme;
// Notifier sends a scheme's notices to an engine; Guard checks received messages at either
// side. docs/scheme-protocol.md is the contract.
//
// A refusal with a code is an answer. Everything else that is not a signed answer of the
// expected form is an infrastructure error: after a submission it is then unknown whether
// the payment arrived.
package provider
