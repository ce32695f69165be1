package waltest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"pixd/wal"
)

func TestTape(t *testing.T) {
	for _, c := range LogContract() {
		t.Run(c.Name, func(t *testing.T) {
			tape := NewTape()
			c.Run(t, func() wal.Log { return tape.Log() })
		})
	}
}

// foundedTape returns a tape with a cluster, and a connection to it.
func foundedTape(t *testing.T) (*Tape, *Reel) {
	t.Helper()
	tape := NewTape()
	r := tape.Log()
	if _, err := r.Found(t.Context(), wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	return tape, r
}

func TestTapeFaults(t *testing.T) {
	for _, c := range []struct {
		name       string
		fault      Fault
		err        error
		end, later uint64 // where the log ends after the call, and after Arrive
	}{
		{"none", None, nil, 1, 1},
		{"refused", Refused, ErrNoAnswer, 0, 0},
		{"lost", Lost, ErrNoAnswer, 1, 1},
		{"delayed", Delayed, ErrNoAnswer, 0, 1},
		{"doubled", Doubled, nil, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tape, r := foundedTape(t)
			r.Next(c.fault)
			if err := r.Append(t.Context(), 0, 0, []byte("a")); !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if end, _ := r.End(t.Context(), 0); end != c.end {
				t.Fatalf("the log ends at %d", end)
			}
			tape.Arrive()
			if end, _ := r.End(t.Context(), 0); end != c.later {
				t.Fatalf("the log ends at %d later", end)
			}
			if err := r.Append(t.Context(), 0, 0, []byte("a")); err != nil {
				t.Fatalf("again: %v", err)
			}
			if n := tape.Arrive(); n != 0 {
				t.Fatalf("%d calls are late twice", n)
			}
		})
	}
}

// TestTapeLateAppend checks that an append that arrives behind another's batch changes nothing.
func TestTapeLateAppend(t *testing.T) {
	tape, r := foundedTape(t)
	r.Next(Delayed)
	_ = r.Append(t.Context(), 0, 0, []byte("late"))
	if err := tape.Log().Append(t.Context(), 0, 0, []byte("other")); err != nil {
		t.Fatal(err)
	}
	tape.Arrive()
	after := uint64(0)
	err := r.Poll(t.Context(), 0, &after, func(_ uint64, b []byte) error {
		if !bytes.Equal(b, []byte("other")) {
			t.Errorf("the log has %q", b)
		}
		return nil
	})
	if err != nil || after != 1 {
		t.Fatal(after, err)
	}
}

func TestTapeCut(t *testing.T) {
	tape, r := foundedTape(t)
	r.Cut(true)
	if err := r.Append(t.Context(), 0, 0, []byte("a")); !errors.Is(err, ErrNoAnswer) {
		t.Fatal(err)
	}
	if _, err := r.Nodes(t.Context()); !errors.Is(err, ErrNoAnswer) {
		t.Fatal(err)
	}
	if err := tape.Log().Append(t.Context(), 0, 0, []byte("b")); err != nil {
		t.Fatal(err)
	}
	testKeptBack(t, r, func() { r.Cut(false) })
}

func TestTapeHold(t *testing.T) {
	_, r := foundedTape(t)
	r.Hold(true)
	if err := r.Append(t.Context(), 0, 0, []byte("a")); err != nil {
		t.Fatal(err)
	}
	testKeptBack(t, r, func() { r.Hold(false) })
}

// testKeptBack checks that a reel brings no batch before free is called.
func testKeptBack(t *testing.T, r *Reel, free func()) {
	t.Helper()
	after := uint64(0)
	if err := r.Poll(t.Context(), 0, &after, nil); err != nil || after != 0 {
		t.Fatal(after, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan uint64)
	go func() {
		_ = r.Follow(ctx, 0, 0, func(position uint64, _ []byte) error { got <- position; return nil })
	}()
	free()
	if position := <-got; position != 1 {
		t.Fatal(position)
	}
}
