package simulation

import (
	"slices"
	"testing"

	"pixd/actors/pix"
)

// kept is a request with an idempotency key, and the answers that were given under that
// key.
type kept struct {
	request *request
	claims  []heard // answers in the order in which their requests were sent; each different body is one claim
}

// heard is one answer under a key, with the simulated times at which the first and the last
// request that received this answer were sent. Answers may arrive in another order than their
// requests were sent.
type heard struct {
	body        string
	first, last pix.Millis
}

// hear records the answer to a request that was sent at the given simulated time.
func (k *kept) hear(at pix.Millis, body string) {
	i := slices.IndexFunc(k.claims, func(h heard) bool { return h.body == body })
	if i < 0 {
		k.claims = append(k.claims, heard{body, at, at})
	} else {
		k.claims[i].first, k.claims[i].last = min(k.claims[i].first, at), max(k.claims[i].last, at)
	}
	slices.SortFunc(k.claims, func(a, b heard) int { return int(a.first - b.first) })
}

// claimed returns the earliest simulated time at which the newest claim of the key may have
// been made; the request that made that claim need not have received an answer. asked are the
// times of all requests with this key. A claim lasts for a day, less slack.
func (k *kept) claimed(asked []pix.Millis, slack pix.Millis) (from pix.Millis) {
	for i := range k.claims {
		for _, at := range asked {
			if i == 0 || at >= from+day-slack {
				from = at
				break
			}
		}
	}
	return from
}

// wrong says what is wrong with the answers under a key. It returns "" if each claim's answer
// was given for a day (less slack) and no other answer was given in that day.
func (k *kept) wrong(asked []pix.Millis, slack pix.Millis) string {
	for i := 1; i < len(k.claims); i++ {
		before, next := k.claims[i-1], k.claims[i]
		until := kept{claims: k.claims[:i]}
		if next.first <= before.last || next.first < until.claimed(asked, slack)+day-slack {
			return "was answered " + before.body + ", and then " + next.body
		}
	}
	return ""
}

// TestKeptAnswers checks kept.wrong and kept.claimed: an answer may arrive a day late,
// after the answer of the next claim under the same key; a different answer within a day is
// wrong.
func TestKeptAnswers(t *testing.T) {
	const first, second, third = noon + 30*60_000, noon + day + 31*60_000, noon + day + 32*60_000
	late := func() (*kept, []pix.Millis) {
		k := &kept{}
		k.hear(second, "two")
		k.hear(first, "one")
		return k, []pix.Millis{first, second, third}
	}
	k, asked := late()
	k.hear(third, "two")
	if wrong := k.wrong(asked, 0); wrong != "" {
		t.Error(wrong)
	}
	if from := k.claimed(asked, 0); from != second {
		t.Errorf("the newest claim is of %v", from)
	}
	k, asked = late()
	k.hear(third, "one")
	if k.wrong(asked, 0) == "" {
		t.Error("an answer of the claim before is right")
	}
	k, asked = late()
	k.hear(third, "three")
	if k.wrong(asked, 0) == "" {
		t.Error("a third answer after a minute is right")
	}
	k = &kept{}
	k.hear(first, "one")
	k.hear(first+day-1, "two")
	if k.wrong([]pix.Millis{first, first + day - 1}, 0) == "" {
		t.Error("another answer within a day is right")
	}
	if wrong := k.wrong([]pix.Millis{first - 1, first, first + day - 1}, 0); wrong != "" {
		t.Errorf("who asked before and heard nothing made the claim: %s", wrong)
	}
}
