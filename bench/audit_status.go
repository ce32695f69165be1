package bench

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// status is a word of the merchant API for what became of a request; 0 is any other word.
type status uint8

const (
	statusNone status = iota
	statusPending
	statusApproval
	statusQueued
	statusAccepted
	statusActive
	statusCompleted
	statusSettled
	statusRejected
	statusFailed
)

var statusWords = [...]string{
	statusPending: "pending", statusApproval: "pending_approval", statusQueued: "queued", statusAccepted: "accepted", statusActive: "active",
	statusCompleted: "completed", statusSettled: "settled", statusRejected: "rejected", statusFailed: "failed",
}

// String returns the word.
func (s status) String() string { return cmp.Or(statusWords[s], "none") }

func statusOf(word string) status {
	return status(max(0, slices.Index(statusWords[:], word)))
}

var statusMember = []byte(`"status":"`)

// toldStatus finds the status in an answer.
func toldStatus(body []byte) status {
	_, after, _ := bytes.Cut(body, statusMember)
	word, _, _ := bytes.Cut(after, []byte{'"'})
	return statusOf(string(word))
}

// moved reports whether money has moved in this status.
func (s status) moved() bool { return s == statusCompleted || s == statusSettled }

// ends lists the statuses in which the API may list what a request of each kind has made.
var ends = [kinds][]status{
	cashIn:  {statusActive, statusCompleted},
	cashOut: {statusPending, statusSettled, statusRejected, statusFailed},
	refund:  {statusPending, statusSettled, statusFailed},
}

// follows reports whether what a request of kind k has made may be listed as s after its client
// was told the status told: an end that was told does not change any more.
func (s status) follows(told status, k kind) bool {
	switch told {
	case statusNone:
		return false
	case statusSettled, statusRejected, statusFailed, statusCompleted:
		return s == told
	}
	return slices.Contains(ends[k], s)
}

// Ended is how many transactions, which requests of one kind have made, had one status at the
// audit.
type Ended struct {
	Request string `json:"request"` // the last part of the request's path, such as cash-out
	Status  string `json:"status"`  // as the merchant API lists it
	Count   int    `json:"count"`
}

// tally counts transactions by kind of request and status.
type tally [kinds][len(statusWords)]int

func (t *tally) add(other *tally) {
	for k := range t {
		for s := range t[k] {
			t[k][s] += other[k][s]
		}
	}
}

// list returns the counts that are not 0.
func (t *tally) list() []Ended {
	all := []Ended{}
	for k := range t {
		for s, n := range t[k] {
			if n > 0 {
				all = append(all, Ended{strings.TrimPrefix(paths[k], "/pix/"), status(s).String(), n})
			}
		}
	}
	return all
}

// sayEnds lists the counts in words.
func (a *Audit) sayEnds() string {
	all := make([]string, len(a.Statuses))
	for i, e := range a.Statuses {
		all[i] = showCount(e.Count) + " " + legible(e.Request) + " " + legible(e.Status)
	}
	return strings.Join(all, ", ")
}
