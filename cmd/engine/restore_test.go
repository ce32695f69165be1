package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/actors/scheme"
	"pixd/cmd/journal"
	"pixd/snapshot"
	"pixd/wal"
)

// everything is each key of a journal with its value, without the verified mark, which is of
// one machine.
func everything(t *testing.T, s *wal.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := s.Scan(nil, nil, func(k, v []byte) (bool, error) {
		all[string(k)] = string(v)
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	delete(all, "!wal/verified")
	return all
}

// restoredAt restores a snapshot to a folder of the file system.
func restoredAt(t *testing.T, fs snapshot.FS, file, dir string) *journal.VerifiedSnapshot {
	t.Helper()
	v, err := journal.RestoreSnapshot(journal.SnapshotOptions{File: file, DataDir: dir, FS: fs, Now: time.Now(), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// from starts an engine on a restored folder, with the book of the simulator of before. The simulator
// lists no movements, and the gap is accepted.
func from(dir string) func(*Config) {
	return func(c *Config) {
		c.DataDir, c.SimDir, c.AcceptRestoredGap = dir, "data/sim", true
		c.wrapScheme = listsNothing
	}
}

// unlisted is a scheme that lists no movements, as a provider of an earlier version.
type unlisted struct{ scheme.Scheme }

func listsNothing(s scheme.Scheme) scheme.Scheme { return unlisted{s} }

var errUnlisted = errors.New("no list of movements")

// Movements implements scheme.Scheme.
func (unlisted) Movements(context.Context, pix.Millis, string, int) (scheme.MovementPage, error) {
	return scheme.MovementPage{}, errUnlisted
}

// TestRestoreIsTheOriginal takes a snapshot, goes on with more payments, and restores: the
// restored journal has every key and value that the original had, and no other. An engine on it
// shows the same accounts, lists and answers as the original did, and carries on.
func TestRestoreIsTheOriginal(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	w.hooks(r.URL+"/a", allKinds)
	p := w.receives(100_000, "")
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test","external_id":"order-7"}`)
	w.becoming(w.paidOut(`{"amount":700,"pix_key":"reject-ac03@pix.test"}`).TransactionID, "rejected")
	w.paidOut(`{"amount":900,"pix_key":"silent@pix.test"}`)
	w.ends(w.taken(`"amount":100,`, p.ID).TransactionID, "settled")
	w.reports(p, 5000)
	status, answer, _ := w.post("/pix/cash-in", `{"amount":100}`, "Idempotency-Key", "charge-1")
	if status != 200 {
		t.Fatal(status, answer)
	}
	w.becomes("all delivered", soon, func() bool { return len(r.all("/a")) >= 7 && w.webhooks.Measure().Running == 0 })
	settled(t, w.Store)
	pages := []string{"/balance", "/transactions", "/transactions?status=processing", "/statement", "/med", "/webhooks", "/transactions/" + p.ID}
	before := w.shown(pages)
	want := everything(t, w.Store)
	file := w.snap()
	w.paidOut(`{"amount":300,"pix_key":"settle-now@pix.test"}`)
	w.receives(5, "")
	w.stop()

	v := restoredAt(t, fs, file, "new")
	if v.Found.Balance.Sign() <= 0 || v.Found.Balance.Cmp(v.Manifest.Balance) != 0 || v.Found.Pending.Sign() <= 0 || v.Found.MEDHeld.Int64() != 5000 {
		t.Errorf("%+v", v)
	}
	copied, err := wal.Open(wal.Options{Dir: "new/journal", FS: fs, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	got := everything(t, copied)
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
	if _, marked := got["!"+restored.MetaMark]; !marked {
		t.Error("the restored journal is not marked")
	}
	delete(got, "!"+restored.MetaMark)
	delete(got, string(wal.BatchKey(v.Found.Position+1))) // the mark's own batch
	if !maps.Equal(got, want) {
		for k := range got {
			if got[k] != want[k] {
				t.Errorf("restored %q: %x, was %x", k, got[k], want[k])
			}
		}
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}

	again := w.at(serveHarness(t, fs, insecure, from("new")))
	if now := again.shown(pages); !slices.Equal(now, before) {
		for i := range now {
			if now[i] != before[i] {
				t.Errorf("%s: %s, was %s", pages[i], now[i], before[i])
			}
		}
	}
	if status, got, _ := again.post("/pix/cash-in", `{"amount":100}`, "Idempotency-Key", "charge-1"); status != 200 || got != answer {
		t.Errorf("the answer under a key: %d %s, was %s", status, got, answer)
	}
	again.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test","external_id":"order-8"}`)
}

// shown is what the merchant API answers to each path.
func (w *harness) shown(paths []string) (all []string) {
	for _, path := range paths {
		status, got := w.get(path)
		if status != 200 {
			w.t.Errorf("%s: %d %s", path, status, got)
		}
		all = append(all, got)
	}
	return all
}

// TestRestoredIsRefused checks that a restored folder is served only once the gap is accepted,
// which raises the epoch each time, and that it is then served without being asked again.
func TestRestoredIsRefused(t *testing.T) {
	t.Parallel()
	fs, file := snapshotOf(t)
	dir := "new"
	for times := uint64(1); times <= 2; times++ {
		restoredAt(t, fs, file, dir)
		config := crashConfig(fs)
		config.DataDir, config.SimDir, config.wrapScheme = dir, "data/sim", listsNothing
		for range 2 {
			if _, err := Open(config); !errors.As(err, new(*restored.Unaccepted)) || !strings.Contains(err.Error(), "--accept-restored-gap") || !strings.Contains(err.Error(), dir) {
				t.Fatalf("without the gap accepted: %v", err)
			}
		}
		config.AcceptRestoredGap = true
		for range 2 { // the second start accepts nothing more
			e, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := restored.Epoch(e.Store); n != times || err != nil {
				t.Errorf("epoch %d, want %d; %v", n, times, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			config.AcceptRestoredGap = false
		}
		w := serveHarness(t, fs, func(c *Config) { c.DataDir, c.SimDir, c.wrapScheme = dir, "data/sim", listsNothing })
		file = w.snap()
		w.stop()
		dir += "er"
	}
	if snapshot.Unfinished(fs, "new") {
		t.Error("a finished restore counts as unfinished")
	}
	if err := fs.MkdirAll("half.restoring", 0o700); err != nil {
		t.Fatal(err)
	}
	config := crashConfig(fs)
	config.DataDir = "half"
	if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("an interrupted restore: %v", err)
	}
}

// TestRestoredHoldsDeliveries checks that webhooks which wait in a snapshot are not sent until
// an operator retries them, one or all, and that later events are sent at once.
func TestRestoredHoldsDeliveries(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	r.status.Store(500)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	for range 4 {
		w.receives(1000, "")
	}
	w.becomes("tried once", soon, func() bool {
		all := w.deliveries(h.ID, "?status=pending")
		return len(all) == 4 && !slices.ContainsFunc(all, func(d delivered) bool { return len(d.Attempts) == 0 })
	})
	file := w.snap()
	w.stop()
	r.status.Store(200)
	tried := len(r.all("/a"))
	restoredAt(t, fs, file, "new")
	again := w.at(serveHarness(t, fs, insecure, from("new")))
	come := func(n int) {
		t.Helper()
		again.becomes(fmt.Sprintf("%d webhooks sent", n), soon, func() bool { return len(r.all("/a")) >= tried+n })
	}
	again.receives(2000, "")
	come(1)
	time.Sleep(100 * time.Millisecond)
	if n := len(r.all("/a")); n != tried+1 {
		t.Fatalf("%d webhooks after the restore, want the new one", n-tried)
	}
	again.becomes("the new one delivered", soon, func() bool { return len(again.deliveries(h.ID, "?status=delivered")) == 1 })
	var l struct {
		Data []struct {
			ID   string
			Held bool
			Next *string `json:"next_attempt_at"`
		}
	}
	_, got := again.operate("GET", "/admin/webhook-deliveries?status=pending", "")
	if err := json.Unmarshal([]byte(got), &l); err != nil || len(l.Data) != 4 {
		t.Fatal(got, err)
	}
	for _, d := range l.Data {
		if !d.Held || d.Next != nil {
			t.Errorf("%+v", d)
		}
	}
	if status, got := again.operate("POST", "/admin/webhook-deliveries/"+l.Data[0].ID+"/retry", ""); status != 202 {
		t.Fatal(status, got)
	}
	come(2)
	if status, got := again.operate("POST", "/admin/webhooks/"+h.ID+"/retry", ""); status != 202 || !strings.Contains(got, `"retried":3`) {
		t.Fatal(status, got)
	}
	come(5)
	again.becomes("all delivered", soon, func() bool { return len(again.deliveries(h.ID, "?status=delivered")) == 5 })
	again.stop()
	if _, err := journal.Verify(journal.VerifyOptions{DataDir: "new", FS: fs}); err != nil {
		t.Error(err)
	}
}
