// Package control is what the operators' endpoints have in common: bodies that
// are read strictly, and one shape of error.
package control
