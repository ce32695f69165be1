package etcdlog

import (
	"bytes"
	"strings"
	"testing"

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
		err := l.Append(ctx, 0, end, batch)
		if err != nil && strings.Contains(err.Error(), "database space exceeded") {
			break
		}
		if err == nil {
			end++
		}
		if end > 100 || ctx.Err() != nil {
			t.Fatalf("a database of 24 MiB took %d batches of 1 MiB: %v", end, err)
		}
	}
	if err := l.Trim(ctx, 0, end); err != nil {
		t.Fatal(err)
	}
	if err := insist(ctx, l, end, batch); err != nil { // etcd may have taken the batch that it refused
		t.Fatalf("trimmed, the log takes nothing: %v", err)
	}
}
