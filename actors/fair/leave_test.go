package fair

import (
	"context"
	"testing"
)

// TestPlaceGivenAtTheEnd checks that a waiter who was given a place as its context ended has the place, and gives it back.
func TestPlaceGivenAtTheEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	p := New[string](Bounds{Places: 1, Share: 1, Queue: 1})
	must(t, p.Take(ctx, "a"))
	mine := make(chan struct{})
	place := p.line.Add("a", mine) // as Take does
	p.Give("a")
	end()
	if err := p.leave(ctx, place, mine); err != nil {
		t.Error("the place is lost:", err)
	}
	p.Give("a")
	if c := p.Counts(); c != (Counts{}) {
		t.Errorf("%+v", c)
	}
}
