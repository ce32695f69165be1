// Package control is what every listener but the merchants' has in common, the operator
// API, the simulator and the scheme's notices: one shape of error, bodies that are read
// strictly, the bearer token, pages of a list, and the probes.
package control
