package simulation

import (
	"slices"
	"testing"

	"pixd/actors/ledger"
)

// kept is what was said under an idempotency key, and the request.
type kept struct {
	request *request
	claims  []heard // in order of asking
}

// heard is an answer, and between which instants of the world it was asked for by those
// who heard it. The order in which they heard is another.
type heard struct {
	body        string
	first, last ledger.Millis
}

// hear notes that who asked at an instant heard an answer.
func (k *kept) hear(at ledger.Millis, body string) {
	i := slices.IndexFunc(k.claims, func(h heard) bool { return h.body == body })
	if i < 0 {
		k.claims = append(k.claims, heard{body, at, at})
	} else {
		k.claims[i].first, k.claims[i].last = min(k.claims[i].first, at), max(k.claims[i].last, at)
	}
	slices.SortFunc(k.claims, func(a, b heard) int { return int(a.first - b.first) })
}

// claimed is the earliest instant at which the newest claim may have been made: whoever
// made it need not have heard an answer. asked are the instants at which the key was
// asked under; a claim lives for a day, less slack.
func (k *kept) claimed(asked []ledger.Millis, slack ledger.Millis) (from ledger.Millis) {
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

// wrong says what is wrong with the answers under a key; nothing where each claim's was
// given for a day, and no other meanwhile.
func (k *kept) wrong(asked []ledger.Millis, slack ledger.Millis) string {
	for i := 1; i < len(k.claims); i++ {
		before, next := k.claims[i-1], k.claims[i]
		until := kept{claims: k.claims[:i]}
		if next.first <= before.last || next.first < until.claimed(asked, slack)+day-slack {
			return "was answered " + before.body + ", and then " + next.body
		}
	}
	return ""
}

// TestKeptAnswers: an answer may come a day late, after that to the next claim under its
// key (which once was taken for a mistake of the engine's).
func TestKeptAnswers(t *testing.T) {
	const first, second, third = noon + 30*60_000, noon + day + 31*60_000, noon + day + 32*60_000
	late := func() (*kept, []ledger.Millis) {
		k := &kept{}
		k.hear(second, "two")
		k.hear(first, "one")
		return k, []ledger.Millis{first, second, third}
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
	if k.wrong([]ledger.Millis{first, first + day - 1}, 0) == "" {
		t.Error("another answer within a day is right")
	}
	if wrong := k.wrong([]ledger.Millis{first - 1, first, first + day - 1}, 0); wrong != "" {
		t.Errorf("who asked before and heard nothing made the claim: %s", wrong)
	}
}
