// Package provider connects an engine and a scheme in another process, by messages in JSON
// over HTTP that are signed in both directions. Provider implements scheme.Scheme in the
// engine; Notifier sends a scheme's notices to an engine; Guard checks received messages in
// either process. docs/scheme-protocol.md is the contract.
//
// A refusal with a code is an answer. Everything else that is not a signed answer of the
// expected form is an infrastructure error: after a submission it is then unknown whether the
// payment arrived.
package provider
