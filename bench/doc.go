// Package bench sends load to an engine over HTTP and reports requests per second,
// latencies and the number of answers by status. Each measurement is compared with a bare
// fasthttp echo server, measured in the same minute on the same computer: on shared
// computers only the ratio of the two means anything.
package bench
