package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"pixd/wal"
)

// said is what several members log.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// has reports whether a text was logged.
func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

// TestFullAgain fills a database up to its quota, so that its members take nothing. It checks that they go on taking nothing as
// long as the log is not trimmed, and say so, and that they do again once it was, without anybody's help.
func TestFullAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := options(t, 3)
	var log said
	for i := range all {
		all[i].Quota, all[i].Log = 24<<20, slog.New(slog.NewTextHandler(&log, nil))
	}
	members := start(t, all)
	l := members[0].Log()
	if _, err := l.Found(ctx, wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	batch, end, full := bytes.Repeat([]byte("x"), 1<<20), uint64(0), 0
	for !log.has("the log is not trimmed") { // the first times the file has room that it does not use
		err := l.Append(ctx, 0, end, batch)
		switch {
		case err == nil, errors.Is(err, wal.ErrMoved): // etcd may have taken a batch that it refused
			end++
		case strings.Contains(err.Error(), "database space exceeded"):
			full++
			time.Sleep(50 * time.Millisecond)
		}
		if end > 100 || ctx.Err() != nil {
			t.Fatalf("a database of 24 MiB took %d batches of 1 MiB, was full %d times, and nobody says that it is not trimmed: %v", end, full, err)
		}
	}
	if err := l.Trim(ctx, 0, end); err != nil {
		t.Fatal(err)
	}
	if err := insist(ctx, l, end, batch); err != nil {
		t.Fatalf("trimmed, the log takes nothing: %v", err)
	}
}
