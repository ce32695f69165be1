package webhook

import (
	"testing"

	"pixd/actors/pix"
)

// step does one thing.
func (w *world) step() {
	switch w.rng.IntN(16) {
	case 0, 1:
		w.emit()
	case 2, 3, 4:
		w.commit()
	case 5, 6:
		w.release()
	case 7, 8, 9:
		w.tick()
	case 10, 11:
		w.answer(6)
	case 12:
		w.now += pix.Millis(w.rng.IntN(3))
	case 13:
		w.now += pix.Millis(w.rng.IntN(3000))
	case 14:
		w.end()
	default:
		if w.rng.IntN(20) == 0 {
			w.start()
		} else {
			w.again()
		}
	}
}

// rest lets everything come to an end, with nothing new.
func (w *world) rest() {
	for range 400 {
		for len(w.tasks) > 0 {
			w.answer(9)
		}
		for len(w.written) > 0 || len(w.durable) > 0 {
			w.commit()
			w.release()
		}
		w.tick()
		w.now += 700
	}
	for d := range w.known {
		if got := w.shelf.stands(d.Target, d.sequence); got != "delivered" && got != "dead" || !w.tried[d] {
			w.failf("in the end delivery %+v is %s, an attempt began: %v", d, got, w.tried[d])
		}
	}
	if due, waiting, _ := w.machine.Counts(); !w.machine.Idle() || due != 0 || waiting != 0 {
		w.failf("in the end %d subscriptions are due and %d wait", due, waiting)
	}
}

// TestAnyOrder checks, in many orders of events, attempts, commits and restarts, that no
// delivery is lost, that none is attempted twice at once or before its last result is durable,
// and that its rows agree.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(400) {
		w := newWorld(t, seed)
		for range 400 {
			w.step()
		}
		w.rest()
	}
}
