// Package bench loads an engine over HTTP and says what it saw: requests per
// second, latencies, errors by status. A run compares with a bare fasthttp echo
// in the same minute on the same machine, because on shared machines only
// ratios mean anything.
package bench
