// Package cbormap says how the engine writes and reads CBOR (RFC 8949): what it stores are maps whose
// keys are small integers, in core deterministic form, so that the same value always has the same bytes.
package cbormap
