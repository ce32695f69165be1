// Package provider is the scheme in another process: messages in JSON over HTTP,
// signed both ways. Provider is the body of scheme.Scheme that an engine asks
// with; Notifier brings a scheme's notices to an engine; Guard stands at the
// receiving end of either. docs/scheme-protocol.md is the contract.
//
// What the other side refuses by a code is an answer. Everything else that is
// not a signed answer of the expected form is an infrastructure error: after a
// submission nothing is known then.
package provider
