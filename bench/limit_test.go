package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pixd/cmd/engine"
	"pixd/wal"
)

// TestLimitServers measures each of the compared servers for a moment, one of them with slow
// syncs.
func TestLimitServers(t *testing.T) {
	t.Parallel()
	o := Options{Duration: time.Second, Connections: 4, Accounts: 3, TempDir: t.TempDir(), Build: engine.Build{Version: "v1"}}
	l := &Limit{StartedAt: time.Unix(0, 0).UTC(), Machine: Machine{CPU: "A\x1b", Cores: 2}}
	servers := limitServers
	if testing.Short() {
		servers = servers[1:3]
	}
	for i := range servers {
		row, err := o.measure(t.Context(), &servers[i], 0)
		if err != nil {
			t.Fatal(err)
		}
		if row.PerSecond < 10 || row.PerDone <= 0 || row.Latency.P50 == 0 || row.Sync != "" || row.Server != servers[i].name {
			t.Errorf("%+v", row)
		}
		l.Rows = append(l.Rows, *row)
	}
	slow, err := o.measure(t.Context(), &limitServers[2], 20*time.Millisecond)
	if err != nil || slow.Sync != "20ms" || slow.Latency.P50 < 40_000 { // each request waits for two syncs
		t.Errorf("%+v %v", slow, err)
	}
	l.Rows = append(l.Rows, *slow)
	var b bytes.Buffer
	if err := l.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for i := range servers {
		if !strings.Contains(b.String(), servers[i].name) {
			t.Errorf("no %q in\n%s", servers[i].name, &b)
		}
	}
	for _, want := range []string{"journal alone", "as it is", "+20ms", `A\x1b, 2 processors, 1970-01-01`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	o.Accounts = 0
	if _, err := o.measure(t.Context(), &limitServers[0], 0); err == nil || !strings.Contains(err.Error(), "--accounts 0") {
		t.Error(err)
	}
}

// TestJournalAlone checks that the journal's server writes as many keys and bytes as a cash-out
// does in the engine, and that what it wrote is a journal.
func TestJournalAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := wal.Open(wal.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	j := &journaling{store: store, streams: make([]journalStream, 2)}
	const n = 50
	for range n {
		if err := j.cashOut(); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	keys, size := store.Written()
	batches, _, _ := store.Head() // each has a row of its own, and each stream one that says where its records are
	if places := uint64(len(j.streams)); keys-batches-places != 12*n || size/n < 950 || size/n > 1250 {
		t.Errorf("%d keys in %d batches, %d bytes for each of %d", keys, batches, size/n, n)
	}
	if store, err = wal.Open(wal.Options{Dir: dir, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	r, err := store.Verify(func(wal.Record) error { return nil }, func(wal.Report) {})
	if err != nil || r.Records != 3*n {
		t.Errorf("%+v %v", r, err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
