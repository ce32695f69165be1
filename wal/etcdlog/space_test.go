package etcdlog

import (
	"bytes"
	"testing"
	"time"

	"pixd/wal"
)

// TestFullAgain fills a database up to its quota, so that its members take nothing, and checks that
// they do again once the log was trimmed, without anybody's help.
func TestFullAgain(t *testing.T) {
	t.Parallel()
	all, ctx := options(t, 3), patient(t)
	for i := range all {
		all[i].Quota = 24 << 20
	}
	members := start(t, all)
	l := members[0].Log()
	if _, err := l.Found(ctx, wal.Cluster{}); err != nil {
		t.Fatal(err)
	}
	batch, end := bytes.Repeat([]byte("x"), 1<<20), uint64(0)
	for {
		if err := l.Append(ctx, 0, end, batch); err != nil {
			break
		}
		if end++; end > 100 {
			t.Fatal("a database of 24 MiB took 100 batches of 1 MiB")
		}
	}
	if end < 8 {
		t.Fatalf("the database took %d batches of 1 MiB", end)
	}
	time.Sleep(roomEvery * 3 / 2)
	if err := l.Append(ctx, 0, end, batch); err == nil {
		t.Fatal("a full log took a batch although nothing was trimmed")
	}
	if err := l.Trim(ctx, 0, end); err != nil {
		t.Fatal(err)
	}
	if err := insist(ctx, l, end, []byte("later")); err != nil {
		t.Fatalf("trimmed, the log takes nothing: %v", err)
	}
}
