package keyed

import (
	"encoding/binary"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func hoursKey(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// TestHoursNeverDeny compares Hours with a plain list of the added keys: a key that was
// added in the span is never excluded, and no key is excluded for a span that begins at or
// before the hour in which the Hours was made.
func TestHoursNeverDeny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		since := rapid.Int64Range(-1, 40).Draw(t, "since")
		h := NewHours(since, 256)
		added := map[int][]int64{}
		now := since
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			now = max(0, now+rapid.Int64Range(-3, 9).Draw(t, "on")) // the clock sometimes goes back
			key := rapid.IntRange(0, 30).Draw(t, "key")
			if rapid.Bool().Draw(t, "add") {
				h.Add(now, hoursKey(key))
				added[key] = append(added[key], now)
				continue
			}
			first := now - rapid.Int64Range(0, 24).Draw(t, "span")
			if h.MayHave(first, now, hoursKey(key)) {
				continue
			}
			if first <= since {
				t.Fatalf("hours %d to %d ruled out, of which those to %d were not witnessed", first, now, since)
			}
			for _, n := range added[key] {
				if n >= first && n <= now {
					t.Fatalf("key %d of hour %d denied in %d to %d", key, n, first, now)
				}
			}
		}
	})
}

// TestHoursRuleOut checks that, after keys were added in a hundred hours, nearly every key
// that was not added is excluded.
func TestHoursRuleOut(t *testing.T) {
	h := NewHours(100, 1<<14)
	for n := int64(101); n < 200; n++ {
		for k := range 200 {
			h.Add(n, hoursKey(int(n)*1000+k))
		}
	}
	vain := 0
	for k := range 10_000 {
		if h.MayHave(175, 199, hoursKey(1_000_000+k)) {
			vain++
		}
	}
	if vain > 100 {
		t.Errorf("%d of 10 000 new keys would be looked for", vain)
	}
	if !h.MayHave(170, 199, hoursKey(1)) {
		t.Error("a span longer than it remembers was ruled out")
	}
	if !h.MayHave(150, 170, hoursKey(1)) {
		t.Error("hours that it has forgotten were ruled out")
	}
	if h.MayHave(190, 220, hoursKey(1)) == false {
		t.Error("a span longer than a day was ruled out")
	}
	if h.MayHave(199, 220, hoursKey(1)) {
		t.Error("hours without a claim were not ruled out")
	}
	var none *Hours
	none.Add(1, hoursKey(1))
	if !none.MayHave(1, 1, hoursKey(1)) {
		t.Error("no filter ruled something out")
	}
}

// TestHoursUnderLoad checks how many keys that were not added are not excluded, with a
// filter of 4 MiB for each hour, at one and at three million keys an hour. All sizes are
// divided by 64.
func TestHoursUnderLoad(t *testing.T) {
	for keys, most := range map[int]int{1_000_000 / 64: 200, 3_000_000 / 64: 3500} {
		h := NewHours(0, 4<<20/64)
		for n := int64(1); n <= 25; n++ {
			for k := range keys {
				h.Add(n, hoursKey(int(n)<<32|k))
			}
		}
		vain := 0
		for k := range 10_000 {
			if h.MayHave(1, 25, hoursKey(1<<50|k)) {
				vain++
			}
		}
		t.Logf("%d keys an hour: %d of 10 000 new ones would be looked for", keys*64, vain)
		if vain > most {
			t.Errorf("%d keys an hour: %d of 10 000 new ones would be looked for", keys*64, vain)
		}
	}
}

// TestHoursAtOnce checks that no key is lost that is added while another goroutine makes
// the filter of a new hour.
func TestHoursAtOnce(t *testing.T) {
	h := NewHours(-1, 1<<12)
	var work sync.WaitGroup
	for g := range 8 {
		work.Go(func() {
			for n := range int64(300) {
				key := hoursKey(g<<32 | int(n))
				h.Add(n, key)
				if !h.MayHave(n, n, key) {
					t.Errorf("%x of hour %d is gone", key, n)
				}
			}
		})
	}
	work.Wait()
}

func BenchmarkHours(b *testing.B) {
	h := NewHours(0, 4<<20)
	for n := int64(1); n <= 26; n++ {
		for k := range 100_000 {
			h.Add(n, hoursKey(int(n)<<32|k))
		}
	}
	n := 0
	for b.Loop() {
		n++
		h.MayHave(2, 26, hoursKey(n))
	}
}

// TestHourBegunByMany checks that no key is lost when several goroutines add the first keys
// of an hour at the same time.
func TestHourBegunByMany(t *testing.T) {
	const hours, keys = 10_000, 4
	h := NewHours(0, 64)
	names := make([][]byte, keys)
	for i := range names {
		names[i] = []byte{byte(i)}
	}
	// A goroutine adds its key of the next hour only when all goroutines have added theirs
	// of the hour before.
	var entered, left sync.WaitGroup
	entered.Add(keys)
	left.Add(keys)
	turn := make([]chan int64, keys)
	for i := range keys {
		turn[i] = make(chan int64)
		go func() {
			for n := range turn[i] {
				entered.Done()
				entered.Wait()
				h.Add(n, names[i])
				left.Done()
			}
		}()
	}
	for n := int64(1); n <= hours; n++ {
		for _, c := range turn {
			c <- n
		}
		left.Wait()
		for _, name := range names {
			if !h.MayHave(n, n, name) {
				t.Fatalf("key %v of hour %d is not known", name, n)
			}
		}
		entered.Add(keys)
		left.Add(keys)
	}
	for _, c := range turn {
		close(c)
	}
}
