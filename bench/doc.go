// Package bench loads an engine over HTTP and reports requests per second, latencies and
// answers by status. Each run is compared with a bare fasthttp echo server in the same
// minute on the same machine, because on shared machines only ratios mean anything.
package bench
