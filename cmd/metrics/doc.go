// Package metrics has what /metrics shows of an engine: one collector for each part of it. All names
// begin with pixd_, and no label names an account, a key or a payout, of which there may be any number.
package metrics
