package machine

import (
	"syscall"
	"testing"
	"time"

	"pixd/actors/pix"
)

// TestEntropyCounts checks that the first 20 bits that a transaction id keeps count up, so that ids of one millisecond differ,
// and that the others are random.
func TestEntropyCounts(t *testing.T) {
	e := NewEntropy()
	count := func(b [10]byte) uint32 {
		return uint32(b[0]&0xf)<<16 | uint32(b[1])<<8 | uint32(b[2]&0x3f)<<2 | uint32(b[3])>>6
	}
	last, seen := count(e.Draw()), map[[6]byte]bool{}
	for n := range 200_000 {
		b := e.Draw()
		if got := count(b); got != (last+1)&(1<<20-1) {
			t.Fatalf("draw %d: %d after %d", n, got, last)
		} else if last = got; n < 1000 {
			seen[[6]byte(b[4:])] = true
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d different ends of 1000", len(seen))
	}
}

// TestSecrets checks that each byte of a secret, and each digit of a request's id, takes several values.
func TestSecrets(t *testing.T) {
	bytes, digits := [32]map[byte]bool{}, [24]map[byte]bool{}
	for range 100 {
		s, id := Secret(32), RequestID()
		if len(s) != 32 || len(id) != 24 {
			t.Fatalf("%d bytes, id %q", len(s), id)
		}
		for i := range s {
			if bytes[i] == nil {
				bytes[i] = map[byte]bool{}
			}
			bytes[i][s[i]] = true
		}
		for i := range len(id) {
			if digits[i] == nil {
				digits[i] = map[byte]bool{}
			}
			digits[i][id[i]] = true
		}
	}
	for i, seen := range bytes {
		if len(seen) < 10 {
			t.Errorf("byte %d of secrets takes %d values", i, len(seen))
		}
	}
	for i, seen := range digits {
		if len(seen) < 5 {
			t.Errorf("digit %d of ids takes %d values", i, len(seen))
		}
	}
}

// TestAccountIDs checks that a new account's id is one that an account may have.
func TestAccountIDs(t *testing.T) {
	for range 1000 {
		if id := NewAccountID(); id == 0 || id > pix.LastAccountID {
			t.Fatalf("%d", id)
		}
	}
}

// TestCPUTime checks that processor time counts what the kernel has used for the process too.
func TestCPUTime(t *testing.T) {
	var before, after syscall.Rusage
	for end := time.Now().Add(5 * time.Second); after.Stime.Nano() < int64(20*time.Millisecond) && time.Now().Before(end); {
		for range 1000 {
			_, _ = syscall.Getppid(), syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		}
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	got := CPUTime()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	if got < time.Duration(before.Utime.Nano()+before.Stime.Nano()) || got > time.Duration(after.Utime.Nano()+after.Stime.Nano()) {
		t.Errorf("%v, between %+v and %+v", got, before, after)
	}
}
