package etcdlog

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pixd/wal"
)

// BenchmarkAppend appends one batch after another at the member that leads.
func BenchmarkAppend(b *testing.B) {
	for _, members := range []int{1, 3} {
		all := options(b, members)
		for i := range all {
			all[i].Heartbeat, all[i].Election = 0, 0
		}
		m := start(b, all)[0]
		if err := m.Lead(patient(b)); err != nil {
			b.Fatal(err)
		}
		for i, kib := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("members=%d/KiB=%d", members, kib), func(b *testing.B) {
				benchmarkAppend(b, m.under(fmt.Sprintf("%d-%d/", i, b.N)), bytes.Repeat([]byte("x"), kib<<10))
			})
		}
	}
}

func benchmarkAppend(b *testing.B, l *Log, batch []byte) {
	if _, err := l.Found(b.Context(), wal.Cluster{}); err != nil {
		b.Fatal(err)
	}
	after := uint64(0)
	for b.Loop() {
		if err := l.Append(b.Context(), 0, after, batch); err != nil {
			b.Fatal(err)
		}
		after++
	}
	b.ReportMetric(float64(after)/b.Elapsed().Seconds(), "appends/s")
}

// TestSizeFlat appends batches of 64 KiB for as long as PIXD_TEST_SIZE says, trims behind the newest
// 1,000 each second, and says how large the database gets.
func TestSizeFlat(t *testing.T) {
	length, _ := time.ParseDuration(os.Getenv("PIXD_TEST_SIZE"))
	if length == 0 {
		t.Skip("PIXD_TEST_SIZE is not set")
	}
	l := start(t, options(t, 1))[0].Log()
	if _, err := l.Found(t.Context(), wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	batch := bytes.Repeat([]byte("x"), 64<<10)
	after, worst := uint64(0), time.Duration(0)
	for began, trimmed, round := time.Now(), time.Now(), 0; time.Since(began) < length; {
		sent := time.Now()
		if err := l.Append(t.Context(), 0, after, batch); err != nil {
			t.Fatal(err)
		}
		after++
		worst = max(worst, time.Since(sent))
		if time.Since(trimmed) < time.Second {
			continue
		}
		trimmed = time.Now()
		if err := l.Trim(t.Context(), 0, after-min(after, 1_000)); err != nil {
			t.Fatal(err)
		}
		took := time.Since(trimmed)
		if round++; round%5 == 0 {
			size, _, err := l.Size(t.Context())
			t.Logf("%s: %d batches, %d MB, trimmed in %s, slowest append %s; %v", time.Since(began).Round(time.Second), after, size/1e6, took, worst, err)
			worst = 0
		}
	}
	rss, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(rss)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
