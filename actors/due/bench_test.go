package due

import (
	"fmt"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// BenchmarkTick measures steps of the scanner over the rows of payouts that wait for an outcome.
// All of them are read once at the start; at rest none is due yet, so a step finds nothing to do.
func BenchmarkTick(b *testing.B) {
	for _, rows := range []int{100, 10_000} {
		s := newShelf()
		for n := range rows {
			s.due(1_000_000, pix.AccountID(n%100+1), n, layout.DueQueued)
			s.accept(pix.AccountID(n%100+1), n)
		}
		s.sort()
		b.Run(fmt.Sprintf("do=rest/rows=%d", rows), func(b *testing.B) {
			m := newMachine()
			tick(b, m, 1, s, 0)
			now := pix.Millis(1)
			b.ReportAllocs()
			for b.Loop() {
				now = now%500_000 + 1
				tick(b, m, now, s, 0)
			}
		})
		b.Run(fmt.Sprintf("do=work/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				everyTask(b, s, rows)
			}
		})
	}
}

// tick checks how many tasks a step starts; -1: any number.
func tick(b *testing.B, m *Machine, now pix.Millis, s *shelf, want int) []Task {
	tasks, err := m.Tick(reading(now), s)
	if err != nil || want >= 0 && len(tasks) != want {
		b.Fatalf("%d tasks (%v)", len(tasks), err)
	}
	return tasks
}

// everyTask lets a new machine start the task of every row, each of which ends at once and
// leaves its row for another hour.
func everyTask(b *testing.B, s *shelf, rows int) {
	const now = 2_000_000
	m, done := newMachine(), 0
	for done < rows {
		tasks := tick(b, m, now, s, -1)
		if len(tasks) == 0 {
			b.Fatalf("%d tasks of %d", done, rows)
		}
		for _, t := range tasks {
			m.Done(t, Result{Again: now + 3_600_000, Open: true}, now)
		}
		done += len(tasks)
	}
}
