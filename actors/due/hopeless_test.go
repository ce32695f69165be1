package due

import (
	"errors"
	"testing"

	"pixd/actors/layout"
)

// TestToldWhenIsNotHopeless checks that a task which was told when to run again has its turn at that time like a new one,
// however often it was told, and that one which changed nothing so often waits for an allowance.
func TestToldWhenIsNotHopeless(t *testing.T) {
	for again, hopeless := range map[bool]bool{true: false, false: true} {
		l := New(1000, 1000, DefaultBounds()).lane(layout.NeedsScheme)
		task := Task{ID: layout.EntityID{1}, due: layout.Due{Kind: layout.DueTransfer, ID: layout.EntityID{1}}}
		r := Result{Open: !again}
		if again {
			r.Again = 10
		}
		tries := 0
		for range hopelessAfter + 2 {
			l.done(task, r, tries, 0)
			tries = l.later.byID[task.ID].tries
			if got := l.later.hopeless.Len() > 0; got && !hopeless {
				t.Errorf("told when: hopeless after %d tries", tries)
			}
			p, ok := l.later.due(1_000_000, func() bool { return true })
			if !ok {
				t.Fatal("it is not due")
			}
			tries = p.tries
		}
		if (tries > hopelessAfter) != hopeless {
			t.Errorf("told when %v: %d tries", again, tries)
		}
	}
}

// TestBoundOfWhatIsPutOff checks that a hopeless task takes the place of no other where as many are remembered as the bound says.
func TestBoundOfWhatIsPutOff(t *testing.T) {
	p := newPutOff(2)
	for i := range byte(3) {
		p.add(later{due: layout.Due{ID: layout.EntityID{i + 1}}, at: 10, tries: hopelessAfter + 1})
	}
	if len(p.byID) != 2 || p.has(layout.EntityID{3}) {
		t.Errorf("%d are remembered", len(p.byID))
	}
}

// TestWhatCountsAsAnAnswer checks after which results the alert about a scheme that does not answer is raised again.
func TestWhatCountsAsAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		r        Result
		answered bool
	}{
		"done": {Result{}, true}, "open at the scheme": {Result{Open: true}, true}, "skipped": {Result{Skipped: true}, false},
		"told when": {Result{Again: 10}, false}, "open, told when": {Result{Open: true, Again: 10}, true}, "failed": {Result{Err: errors.New("the disk fails")}, false},
	} {
		l := New(1000, 1000, DefaultBounds()).lane(layout.NeedsScheme)
		if !l.heard(Result{Unheard: true}, 0) {
			t.Fatal("no alert at the first")
		}
		l.heard(c.r, 0)
		if again := l.heard(Result{Unheard: true}, 0); again != c.answered {
			t.Errorf("%s: another alert %v, want %v", name, again, c.answered)
		}
	}
}
