package webhook

import (
	"container/heap"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// traffic is a rig whose receivers answer after a time.
type traffic struct {
	*rig
	open    answers
	answer  func(Task) (took pix.Millis, status int)
	begun   map[layout.Target]int
	ended   map[layout.Target]int // with a success
	most    int                   // most attempts at once
	greatly [classes]int          // most in each pool
}

func newTraffic(t testing.TB, answer func(Task) (pix.Millis, int)) *traffic {
	return &traffic{rig: newRig(t, nil), answer: answer, begun: map[layout.Target]int{}, ended: map[layout.Target]int{}}
}

// step lets attempts end whose answers have come, and begins others.
func (f *traffic) step() {
	f.t.Helper()
	for len(f.open) > 0 && f.open[0].at <= f.now {
		a := heap.Pop(&f.open).(due)
		if a.status == 200 {
			f.ended[a.task.Target]++
		}
		f.answers(a.task, a.status)
	}
	for _, task := range f.tick() {
		f.begun[task.Target]++
		took, status := f.answer(task)
		heap.Push(&f.open, due{f.now + took, task, status})
	}
	f.most = max(f.most, len(f.open))
	running := 0
	for c := range f.pools {
		f.greatly[c] = max(f.greatly[c], f.pools[c].InUse())
		running += f.pools[c].InUse()
	}
	if running != len(f.open) {
		f.t.Fatalf("%d attempts run, counted as %d", len(f.open), running)
	}
}

// backlog writes many events for the subscriptions of an account.
func (f *traffic) backlog(account pix.AccountID, subscriptions int, events uint64) {
	for n := range subscriptions {
		of := layout.Target{Account: account, Number: uint32(n + 1)}
		for sequence := range events {
			f.emit(of, sequence+1)
		}
	}
}

// of sums a count of each of an account's subscriptions.
func of(account pix.AccountID, counts map[layout.Target]int) (n int) {
	for t, c := range counts {
		if t.Account == account {
			n += c
		}
	}
	return n
}

// due is an answer that comes at a time.
type due struct {
	at     pix.Millis
	task   Task
	status int
}

// answers is a heap of answers, the earliest first.
type answers []due

func (a answers) Len() int           { return len(a) }
func (a answers) Less(i, j int) bool { return a[i].at < a[j].at }
func (a answers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *answers) Push(x any)        { *a = append(*a, x.(due)) }
func (a *answers) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}
