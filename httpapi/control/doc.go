// Package control has the parts that the operator API, the simulator's endpoints and the
// endpoint for the scheme's notices share: one shape of error, strict reading of bodies, the
// bearer token, pages of a list, and the probes.
package control
