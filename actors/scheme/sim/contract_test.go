package sim

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/schemetest"
	"pixd/wal"
)

func now() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

var drawn atomic.Uint64

func draw() (b [10]byte) {
	n := drawn.Add(1)
	for i := range b {
		b[i] = byte(n >> (8 * (i % 8)))
	}
	return b
}

func openOn(t *testing.T, fs wal.FS, edit func(*Options)) *Sim {
	t.Helper()
	o := Options{
		Dir: "sim", FS: fs, SettleDelay: 30 * time.Millisecond, Now: now, Entropy: draw, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestContract runs the contract of scheme.Scheme against simulators on a file system that
// keeps everything, and on a file system that loses unsynced data at each restart.
func TestContract(t *testing.T) {
	t.Run("closed and opened again", func(t *testing.T) {
		t.Parallel()
		schemetest.Contract(t, func(t *testing.T) schemetest.Body { return closing(t, vfs.NewMem()) })
	})
	t.Run("power cut", func(t *testing.T) {
		t.Parallel()
		schemetest.Contract(t, func(t *testing.T) schemetest.Body { return crashing(t, vfs.NewCrashableMem()) })
	})
}

func closing(t *testing.T, fs *vfs.MemFS) schemetest.Body {
	s, err := Open(Options{
		Dir: "sim", FS: fs, SettleDelay: 30 * time.Millisecond, Now: now, Entropy: draw, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	end := func() {
		if !closed {
			closed = true
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return schemetest.Body{Scheme: s, Now: now, Start: s.Start, Pay: payer(s), Payable: payable(s), Again: func(t *testing.T) schemetest.Body {
		end()
		return closing(t, fs)
	}}
}

// payer returns the function with which the contract has a customer pay.
func payer(s *Sim) func(*testing.T, pix.Key, pix.Amount, pix.Millis) string {
	return func(t *testing.T, k pix.Key, amount pix.Amount, at pix.Millis) string {
		t.Helper()
		paid, _, err := s.Pay(t.Context(), Payment{Key: k.Value, Amount: amount, At: at})
		if err != nil {
			t.Fatal(err)
		}
		return paid
	}
}

// payable returns the function with which the contract asks whether the simulator knows a key.
func payable(s *Sim) func(*testing.T, pix.Key) bool {
	return func(t *testing.T, k pix.Key) bool {
		t.Helper()
		_, _, err := s.Pay(t.Context(), Payment{Key: k.Value, Amount: 1})
		if err != nil && !errors.Is(err, ErrUnknownKey) {
			t.Fatal(err)
		}
		return err == nil
	}
}

func crashing(t *testing.T, fs *vfs.MemFS) schemetest.Body {
	s := openOn(t, fs, nil)
	return schemetest.Body{Scheme: s, Now: now, Start: s.Start, Pay: payer(s), Payable: payable(s), Again: func(t *testing.T) schemetest.Body {
		return crashing(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 2))}))
	}}
}

// TestAcknowledgedIsDone checks that a notice which was acknowledged is not sent again by the
// next process.
func TestAcknowledgedIsDone(t *testing.T) {
	fs := vfs.NewMem()
	b := closing(t, fs)
	acked, reported := make(chan struct{}), atomic.Int64{}
	if err := b.Start(func(_ scheme.Notice, done func(error)) { done(nil); close(acked) }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Scheme.Submit(t.Context(), payoutAt(now())); err != nil {
		t.Fatal(err)
	}
	<-acked
	next := b.Again(t)
	if err := next.Start(func(_ scheme.Notice, done func(error)) { reported.Add(1); done(nil) }); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if n := reported.Load(); n != 0 {
		t.Errorf("reported again %d times", n)
	}
}
