package engine

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/actors/webhook"
	"pixd/cmd/snapshots"
	"pixd/wal"
)

// TestRoundsGoOn makes a round of background work fail, by a row that cannot be read or a folder
// that cannot be written, and checks that the next rounds come, and do their work once they can.
func TestRoundsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log heard
		var noFolder sync.Map
		c := crashConfig(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if _, fails := noFolder.Load(op.Path); fails && op.Kind == errorfs.OpMkdirAll {
				return errorfs.ErrInjected
			}
			return nil
		})))
		c.Clocks, c.Log, c.SnapshotEvery = newClocks().sources(), slog.New(slog.NewTextHandler(&log, nil)), time.Hour
		noFolder.Store(c.snapshotDir(), true)
		e, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := populate(e); err != nil {
			t.Fatal(err)
		}
		claim := claimKey(layout.BucketOf(e.Clock.Now())-3, 1)
		pending, _ := layout.AllPending()
		status, _ := layout.AllDeliveries()
		bad := func(k []byte) wal.Op { return wal.Op{Kind: wal.OpSet, Key: append(k, 1), Value: []byte("bad")} }
		rows := []wal.Op{bad(pending), bad(status), {Kind: wal.OpSet, Key: claim, Value: []byte("bad")}}
		if err := e.Store.WriteRows(wal.Local, rows...); err != nil {
			t.Fatal(err)
		}
		now := e.refusals.Stamp
		e.refusals.Stamp = func() pix.Millis { return 1 }
		e.refusals.Refuse(scheme.Notice{EndToEnd: "E1"}, func(error) {})
		e.refusals.Stamp = now
		if _, err := e.Operators.Approve(pix.TxID{1}, "ana"); err != nil {
			t.Fatal(err)
		}
		rounds := map[string]time.Duration{
			"webhook: deliveries not watched": webhook.WatchEvery,
			"webhook: sweep":                  dropEvery,
			"claims of past days not dropped": dropEvery,
			"alert=" + snapshots.AlertFailed:  c.SnapshotEvery,
		}
		time.Sleep(2*time.Hour + time.Minute)
		for text, every := range rounds {
			if n, want := strings.Count(log.String(), text), int(2*time.Hour/every); n < want {
				t.Errorf("%q %d times, want %d", text, n, want)
			}
		}
		if e.refusals.Has("E1") {
			t.Error("an old refusal is kept because claims cannot be read")
		}
		if e.Operators.FirstApproval(pix.TxID{1}) != nil {
			t.Error("the first approval of a payout that does not wait is kept")
		}
		if n := e.Accounts.InMemory(); n != 0 {
			t.Errorf("%d idle accounts are kept in memory", n)
		}
		noFolder.Clear()
		rows[0].Kind, rows[1].Kind, rows[2].Value = wal.OpDelete, wal.OpDelete, make([]byte, 49)
		rows[0].Value, rows[1].Value = nil, nil
		if err := e.Store.WriteRows(wal.Local, rows...); err != nil {
			t.Fatal(err)
		}
		before := map[string]int{}
		for text := range rounds {
			before[text] = strings.Count(log.String(), text)
		}
		time.Sleep(time.Hour + time.Minute)
		for text := range rounds {
			if n := strings.Count(log.String(), text); n != before[text] {
				t.Errorf("%q %d times more", text, n-before[text])
			}
		}
		if _, there, err := e.Store.Get(claim); there || err != nil {
			t.Errorf("the claim is there: %v %v", there, err)
		}
		if n, _ := e.snapshots.Counts(); n == 0 {
			t.Error("no snapshot was made")
		}
		key, err := e.Registry.MakeAPIKey(registry.APIKey{ClientID: "cli_1", Account: 1})
		if err != nil {
			t.Fatal(err)
		}
		for at := pix.Millis(1); at <= 2; at++ {
			key.Used(at)
			time.Sleep(usesEvery + time.Second)
			if v, _, err := e.Store.Get(wal.MetaKey("last-used/cli_1")); err != nil || len(v) != 8 || v[7] != byte(at) {
				t.Errorf("last used at %d: %x %v", at, v, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// unwilling is a scheme that refuses all keys while refuses is set, and counts how often it is told
