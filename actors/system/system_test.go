package system

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// TestNewIsCheap checks that an empty system is not tens of thousands of maps.
func TestNewIsCheap(t *testing.T) {
	if made := testing.AllocsPerRun(3, func() { New(slog.DiscardHandler).Shutdown() }); made > 6000 {
		t.Errorf("%.0f allocations for an empty system", made)
	}
}

// TestManyActors checks that every one of many actors is found by its name.
func TestManyActors(t *testing.T) {
	s := New(slog.DiscardHandler)
	defer s.Shutdown()
	const actors = 20_000
	var heard sync.WaitGroup
	heard.Add(actors)
	for n := range actors {
		_, err := s.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
			if _, asked := c.Message().(int); asked {
				heard.Done()
			}
		}), fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range actors {
		s.Root.Send(actor.NewPID(s.Address(), fmt.Sprint(n)), n)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		heard.Wait()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("a message was not heard")
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(slog.DiscardHandler).Shutdown()
	}
}
