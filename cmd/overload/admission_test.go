package overload

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/httpapi"
	"pixd/wal"
)

// closable is an admission whose disk, journal and clock the test sets.
type closable struct {
	*Admission
	free               uint64
	looks              int // how often the free space was read
	broken             error
	submitted, durable wal.Ticket
	hand               atomic.Int64
	lateIntake         atomic.Bool
	log                bytes.Buffer
	at                 time.Time
}

func newClosable() *closable {
	c := &closable{free: 100, at: time.Unix(1_790_000_000, 0)}
	log := slog.New(slog.NewTextHandler(&c.log, nil))
	c.Admission = &Admission{enough: int64(EnoughInHand()), Options: Options{
		Free: func() (uint64, error) { c.looks++; return c.free, c.broken }, MinFree: 10,
		Progress: func() (wal.Ticket, wal.Ticket) { return c.submitted, c.durable },
		InHand:   c.hand.Load, Late: c.lateIntake.Load, CommitLimit: commitLimit, Log: log,
		Raise: func(kind, message string) { log.Error(message, "alert", kind) },
	}}
	return c
}

// after lets time pass in steps of lookEvery, and returns the answer of Closed.
func (c *closable) after(d time.Duration) string {
	for end := c.at.Add(d); c.at.Before(end); {
		c.at = c.at.Add(lookEvery)
		c.look(c.at)
	}
	return c.Closed()
}

func TestAdmissionAndDisk(t *testing.T) {
	c := newClosable()
	for n, step := range []struct {
		free   uint64
		broken error
		want   string
	}{
		{100, nil, ""},
		{10, nil, ""}, // exactly the least free space is enough
		{9, nil, ClosedDisk},
		{0, nil, ClosedDisk},
		{0, errors.New("gone"), ClosedDisk}, // the free space cannot be read, so the answer stays as it was
		{10, nil, ""},
		{0, errors.New("gone"), ""},
		{9, nil, ClosedDisk},
	} {
		c.free, c.broken = step.free, step.broken
		if got := c.after(3 * diskEvery); got != step.want {
			t.Errorf("step %d: %q", n, got)
		}
	}
	log := c.log.String()
	for what, want := range map[string]int{"alert=low_disk": 2, "enough disk": 1, "cannot be told": 2} {
		if got := strings.Count(log, what); got != want {
			t.Errorf("%q is there %d times:\n%s", what, got, log)
		}
	}
	if c.looks != 8*3 {
		t.Errorf("the free space was read %d times in %d seconds", c.looks, 8*3)
	}
	c.MinFree, c.looks = 0, 0
	c.lowDisk.Store(false)
	if got := c.after(2 * diskEvery); got != "" || c.looks > 0 {
		t.Errorf("without a mark: %q, read %d times", got, c.looks)
	}
}

func TestAdmissionAndJournal(t *testing.T) {
	c := newClosable()
	if got := c.after(time.Minute); got != "" {
		t.Errorf("idle: %q", got)
	}
	c.submitted = 3 // the journal was idle for a long time: the five seconds begin only when look first sees the new entry
	if got := c.after(commitLimit); got != "" {
		t.Errorf("waits for %v: %q", commitLimit-lookEvery, got)
	}
	if got := c.after(lookEvery); got != ClosedStalled {
		t.Errorf("waits for %v: %q", commitLimit, got)
	}
	c.submitted = 9
	if got := c.after(time.Minute); got != ClosedStalled {
		t.Errorf("waits still: %q", got)
	}
	c.durable = 4 // some of the waiting entries became durable
	if got := c.after(lookEvery); got != "" {
		t.Errorf("moved: %q", got)
	}
	if got := c.after(commitLimit); got != ClosedStalled {
		t.Errorf("waits again: %q", got)
	}
	c.durable = 9
	if got := c.after(lookEvery); got != "" {
		t.Errorf("all is durable: %q", got)
	}
	for range 100 { // the journal is slow, but one more entry becomes durable before each look
		c.submitted++
		if got := c.after(commitLimit - lookEvery); got != "" {
			t.Fatalf("slow: %q", got)
		}
		c.durable++
	}
	for what, want := range map[string]int{"level=ERROR": 2, "for=5s waiting=3": 1, "for=5s waiting=5": 1, "answers again": 2} {
		if got := strings.Count(c.log.String(), what); got != want {
			t.Errorf("%q is there %d times:\n%s", what, got, c.log.String())
		}
	}
}

func TestAdmissionAndRequests(t *testing.T) {
	c := newClosable()
	c.hand.Store(httpapi.MaxInHand)
	if got := c.Busy(); got != "" {
		t.Errorf("%q", got)
	}
	c.hand.Add(1)
	if got := c.Busy(); got != ClosedBusy {
		t.Errorf("%q", got)
	}
}

// TestAdmissionAndIntake checks that new work is refused while requests wait too long to be read,
// but for as much of it as keeps the processors busy.
func TestAdmissionAndIntake(t *testing.T) {
	c := newClosable()
	enough := int64(EnoughInHand())
	for _, s := range []struct {
		late bool
		hand int64
		want string
	}{{false, enough + 1, ""}, {true, enough, ""}, {true, enough + 1, ClosedBusy}, {false, enough + 1, ""}} {
		c.lateIntake.Store(s.late)
		c.hand.Store(s.hand)
		if got := c.Busy(); got != s.want {
			t.Errorf("late %v, %d in hand: %q", s.late, s.hand, got)
		}
	}
}

func BenchmarkClosed(b *testing.B) {
	c := newClosable()
	for b.Loop() {
		if c.Busy() != "" {
			b.Fatal("closed")
		}
	}
}

// TestAdmissionFromTheStart checks that an admission knows of a full disk when it is made, and that a commit may take five
// seconds where nothing else is said.
func TestAdmissionFromTheStart(t *testing.T) {
	c := newClosable()
	c.free = 9
	if got := NewAdmission(c.Options).Closed(); got != ClosedDisk {
		t.Errorf("%q", got)
	}
	c.free, c.Options.CommitLimit = 10, 0
	if got := NewAdmission(c.Options); got.Closed() != "" || got.CommitLimit != 5*time.Second {
		t.Errorf("%q, %v", got.Closed(), got.CommitLimit)
	}
}
