package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/alerts"
	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/restored"
	"pixd/cmd/journal"
	"pixd/snapshot"
	"pixd/wal"
)

// cutAt cuts the journal of the folder "data" at an instant, to another folder.
func cutAt(t *testing.T, fs snapshot.FS, dir string, until pix.Millis) *journal.CutJournal {
	t.Helper()
	c, err := journal.CutFolder(journal.CutOptions{DataDir: "data", To: dir, Until: until, FS: fs, Now: time.Now(), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return c.Cut
}

// busy makes an engine with something of everything, with pauses between, and returns it and the
// instants of the pauses, with what the pages showed then.
func (w *harness) busy(r *merchantServer, pages []string) (pauses []pix.Millis, shown [][]string) {
	w.t.Helper()
	pause := func() {
		w.t.Helper()
		time.Sleep(5 * time.Millisecond)
		settled(w.t, w.Store)
		pauses, shown = append(pauses, w.Clock.Stamp()), append(shown, w.shown(pages))
		time.Sleep(5 * time.Millisecond)
	}
	h := w.hooks(r.URL+"/a", allKinds)
	p, q := w.receives(1_000_000, ""), w.receives(50_000, "")
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test","external_id":"order-7"}`)
	w.paidOut(`{"amount":900,"pix_key":"silent@pix.test"}`)
	pause()
	w.becoming(w.paidOut(`{"amount":700,"pix_key":"reject-ac03@pix.test"}`).TransactionID, "rejected")
	w.paidOut(`{"amount":300,"pix_key":"client-limited@pix.test"}`)
	w.paidOut(`{"amount":200,"pix_key":"bucket-exhausted@pix.test"}`)
	_, open := w.reports(p, 5000)
	pause()
	for n := range 150 {
		if status, got, _ := w.post("/pix/cash-in", `{"amount":100}`, "Idempotency-Key", fmt.Sprint("charge-", n)); status != 200 {
			w.t.Fatal(status, got)
		}
	}
	if status, got := w.operate("PATCH", "/admin/accounts/"+w.ID, `{"approval_threshold":100000}`); status != 200 {
		w.t.Fatal(status, got)
	}
	waits := w.paidOut(`{"amount":1100,"pix_key":"approved@example.com"}`).TransactionID
	const again = `{"amount":400,"pix_key":"not-found@pix.test"}`
	if status, got, _ := w.post("/pix/cash-out", again, "Idempotency-Key", "again"); status != 400 {
		w.t.Fatal(status, got)
	}
	pause()
	// An open row is set again, and a claim that a refusal deleted.
	if status, got := w.operate("POST", "/admin/payouts/"+waits+"/approve", `{"operator":"ana"}`); status != 200 {
		w.t.Fatal(status, got)
	}
	if status, got, _ := w.post("/pix/cash-out", strings.Replace(again, "not-found", "settle-now", 1), "Idempotency-Key", "again"); status != 200 {
		w.t.Fatal(status, got)
	}
	r.status.Store(500)
	refund := w.taken(`"amount":100,`, q.ID)
	w.ends(refund.TransactionID, "settled")
	w.paidOut(`{"amount":800,"pix_key":"returned@pix.test"}`)
	w.becomes("a delivery failed", soon, func() bool { return len(w.deliveries(h.ID, "?status=pending")) > 0 })
	pause()
	r.status.Store(200)
	w.analysed(open.ID, "AGREED")
	w.Config.alerts.RaiseGeneral("clock", "an alert of the test")
	if status, got := w.operate("POST", "/admin/accounts/"+w.ID+"/pix-keys", `{"key_type":"evp"}`); status != 201 {
		w.t.Fatal(status, got)
	}
	w.paidOut(`{"amount":600,"pix_key":"settle-now@pix.test"}`)
	w.becomes("everything ended", 10*time.Second, func() bool { return w.webhooks.Measure().Running == 0 })
	return pauses, shown
}

// original is the journal that is cut, as a test reads it.
type original struct {
	all     map[string]string
	batches []dated
}

// dated is a batch with its time and its records.
type dated struct {
	time    int64
	records []wal.Record
}

func readOriginal(t *testing.T, fs snapshot.FS) *original {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: "data/journal", FS: fs, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	o := &original{all: everything(t, s), batches: make([]dated, 1)}
	_, err = s.Verify(func(r wal.Record) error {
		r.Body = slices.Clone(r.Body)
		last := &o.batches[len(o.batches)-1]
		last.records = append(last.records, r)
		return nil
	}, func(r wal.Report) {
		o.batches[len(o.batches)-1].time = r.Time
		o.batches = append(o.batches, dated{})
	})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	o.batches = o.batches[:len(o.batches)-1]
	return o
}

// first is the time of the first batch with records; batches before it have none.
func (o *original) first() int64 {
	return o.batches[slices.IndexFunc(o.batches, func(b dated) bool { return len(b.records) > 0 })].time
}

// model is what a journal must have that was cut.
type model struct {
	position uint64
	time     int64
	records  uint64
	balance  *big.Int
	rows     map[string]string
	ends     map[pix.AccountID]uint64
}

// at makes the model of the journal at an instant: its rows are written by each record in turn.
func (o *original) at(t *testing.T, until pix.Millis) *model {
	t.Helper()
	m := &model{rows: map[string]string{}, ends: map[pix.AccountID]uint64{}, balance: new(big.Int)}
	balances := map[pix.AccountID]pix.Amount{}
	for _, b := range o.batches {
		if b.time > int64(until) {
			break
		}
		m.position, m.time, m.records = m.position+1, b.time, m.records+uint64(len(b.records))
		for i := range b.records {
			var rows []layout.Row
			if of := &b.records[i]; registry.Owns(of.Stream) {
				r, err := registry.Decode(of)
				if err != nil {
					t.Fatal(err)
				}
				rows = registry.Project(r)
			} else {
				r, err := history.Decode(of)
				if err != nil {
					t.Fatal(err)
				}
				rows = ledger.Project(nil, r)
				m.ends[r.Account], balances[r.Account] = r.Seq, r.Totals.Balance
			}
			for _, r := range rows {
				if delete(m.rows, string(r.Key)); r.Value != nil {
					m.rows[string(r.Key)] = string(r.Value)
				}
			}
		}
	}
	for _, b := range balances {
		m.balance.Add(m.balance, big.NewInt(int64(b)))
	}
	m.deliveries(t, o)
	return m
}

// deliveries gives the model what the original says of deliveries of the records that are left.
func (m *model) deliveries(t *testing.T, o *original) {
	t.Helper()
	tried := map[string]bool{}
	event := func(of layout.Target, sequence uint64) string { return fmt.Sprint(of, sequence) }
	for k, v := range o.all {
		if !layout.IsDelivery([]byte(k)) {
			continue
		}
		of, _, sequence, err := layout.DecodeDeliveryKey([]byte(k))
		s, err2 := layout.DecodeDeliveryStatus([]byte(v))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if s.Record <= m.ends[of.Account] {
			m.rows[k], tried[event(of, sequence)] = v, true
		}
	}
	for _, all := range []map[string]string{m.rows, o.all} {
		for k, v := range maps.Clone(all) {
			if !layout.IsPending([]byte(k)) {
				continue
			}
			p, err := layout.DecodePending([]byte(k), []byte(v))
			if err != nil {
				t.Fatal(err)
			}
			if of := tried[event(p.Target, p.Sequence)]; of && o.all[k] != "" {
				m.rows[k] = v
			} else if of {
				delete(m.rows, k)
			}
		}
	}
}

// compare compares a cut journal with the model: every record and batch of the original up to the
// cut, the model's rows, and the named values, of which alerts are those up to the instant.
func (m *model) compare(t *testing.T, o *original, fs snapshot.FS, dir string, until pix.Millis) {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: dir + "/journal", FS: fs, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	got := everything(t, s)
	records := uint64(0)
	if _, err := s.Verify(func(r wal.Record) error { records++; return nil }, nil); err != nil || records != m.records {
		t.Errorf("%v: %d records, want %d: %v", until, records, m.records, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	delete(got, "!"+restored.MetaMark)
	delete(got, string(wal.BatchKey(m.position+1))) // the mark's own
	raised, _ := alerts.Range(until + 1)
	past := wal.PrefixEnd(wal.MetaKey("alert/"))
	for k, v := range o.all {
		switch {
		case k == "!"+restored.MetaMark:
		case k[0] == '!' && (k < string(raised) || k >= string(past)), k[0] == 'B' && k <= string(wal.BatchKey(m.position)):
			m.rows[k] = v
		}
	}
	for k := range got {
		if id, is := layout.HeadOwner([]byte(k)); is {
			if m.ends[id] == 0 {
				t.Errorf("%v: a head row of %v, which has no record", until, id)
			}
			delete(got, k) // Verify compares it with the records
		}
		if k[0] == 'R' || k[0] == 'P' || k[0] == 'J' {
			delete(got, k) // Verify has read them
		}
	}
	if maps.Equal(got, m.rows) {
		return
	}
	for k := range got {
		if v, ok := m.rows[k]; !ok || got[k] != v {
			t.Errorf("%v: %q is %x, want %x", until, k, got[k], m.rows[k])
		}
	}
	for k := range m.rows {
		if _, ok := got[k]; !ok {
			t.Errorf("%v: %q is missing", until, k)
		}
	}
	t.FailNow()
}

// TestCutIsTheModel cuts the journal of an engine that did something of everything, at random instants, at
// the very instants of batches, and after the last. Each time the folder has what the records up to
// there make, and verifies.
func TestCutIsTheModel(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	pauses, _ := w.busy(newReceiver(t), []string{"/balance"})
	w.stop()
	o := readOriginal(t, fs)
	first, last := o.first(), o.batches[len(o.batches)-1].time
	rng := rand.New(rand.NewPCG(33, 1))
	cuts := 100
	if testing.Short() {
		cuts = 15
	}
	instants := append(pauses, pix.Millis(first), pix.Millis(last), pix.Millis(last+1), pix.Millis(last-1))
	for len(instants) < cuts {
		at := pix.Millis(first + rng.Int64N(last-first))
		if rng.IntN(3) == 0 {
			at = pix.Millis(max(first, o.batches[rng.IntN(len(o.batches))].time))
		}
		instants = append(instants, at)
	}
	for _, until := range instants {
		m := o.at(t, until)
		c := cutAt(t, fs, "cut", until)
		if c.Position != m.position || c.Time != m.time || c.Batches != uint64(len(o.batches))-m.position || c.Left.Records != m.records || c.Left.Balance.Cmp(m.balance) != 0 {
			t.Errorf("%v: %+v, want %+v", until, c, m)
		}
		m.compare(t, o, fs, "cut", until)
		if v, err := journal.Verify(journal.VerifyOptions{DataDir: "cut", FS: fs, TempDir: t.TempDir()}); err != nil || v.Position != m.position+1 {
			t.Errorf("%v: %v", until, err)
		}
		if err := fs.RemoveAll("cut"); err != nil {
			t.Fatal(err)
		}
	}
	if now := readOriginal(t, fs); !maps.Equal(now.all, o.all) {
		t.Error("the journal that was cut has changed")
	}
}

// TestCutShowsThePast serves what a journal is cut to, at instants at which it was quiet, and compares what
// merchants see with what they saw then. A snapshot is cut in the same way.
func TestCutShowsThePast(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	pages := []string{"/balance", "/transactions?per_page=100", "/transactions?status=processing", "/statement?per_page=100", "/med", "/webhooks"}
	pauses, shown := w.busy(newReceiver(t), pages)
	file := w.snap()
	w.stop()
	for n, until := range pauses {
		dir := fmt.Sprint("cut", n)
		if n%2 == 0 {
			cutAt(t, fs, dir, until)
		} else {
			v, err := journal.RestoreSnapshot(journal.SnapshotOptions{File: file, DataDir: dir, FS: fs, Now: time.Now(), TempDir: t.TempDir(), Until: until})
			if err != nil || v.Cut.Batches == 0 || v.Cut.Left.Records >= v.Found.Records {
				t.Fatalf("%+v %v", v, err)
			}
		}
		config := crashConfig(fs)
		config.DataDir, config.SimDir, config.wrapScheme = dir, "data/sim", listsNothing
		_, err := Open(config)
		m := readOriginal(t, fs).at(t, until)
		if refused := new(restored.Unaccepted); !errors.As(err, &refused) || refused.Until != until || refused.Position != m.position || int64(refused.Newest) != m.time || refused.Since() != until || !strings.Contains(err.Error(), "cut at "+until.String()) || (refused.Taken == 0) != (n%2 == 0) {
			t.Fatalf("without the gap accepted: %v", err)
		}
		again := w.at(serveHarness(t, fs, insecure, from(dir)))
		if now := again.shown(pages); !slices.Equal(now, shown[n]) {
			for i := range now {
				if now[i] != shown[n][i] {
					t.Errorf("at %v %s is %s, was %s", until, pages[i], now[i], shown[n][i])
				}
			}
		}
		again.paidOut(fmt.Sprintf(`{"amount":50%d,"pix_key":"settle-now@pix.test"}`, n))
		again.stop()
		if _, err := journal.Verify(journal.VerifyOptions{DataDir: dir, FS: fs, TempDir: t.TempDir()}); err != nil {
			t.Errorf("served after a cut at %v: %v", until, err)
		}
	}
}

// TestCutOldSnapshots cuts each snapshot in testdata in the middle.
func TestCutOldSnapshots(t *testing.T) {
	t.Parallel()
	for _, old := range oldSnapshots(t) {
		fs := vfs.NewMem()
		file := old.put(t, fs)
		whole := restoredAt(t, fs, file, "data")
		o := readOriginal(t, fs)
		until := pix.Millis(o.batches[len(o.batches)/2].time)
		m := o.at(t, until)
		v, err := journal.RestoreSnapshot(journal.SnapshotOptions{File: file, DataDir: "cut", FS: fs, Now: time.Now(), TempDir: t.TempDir(), Until: until})
		if err != nil {
			t.Fatal(file, err)
		}
		if v.Cut.Position != m.position || m.position >= whole.Found.Position || v.Cut.Left.Balance.Cmp(m.balance) != 0 || v.Cut.Left.Records != m.records {
			t.Errorf("%s: %+v, want %+v", file, v.Cut, m)
		}
		m.compare(t, o, fs, "cut", until)
	}
}

// TestCutLeavesNothing fails the writes of a cut one after the other, and ends it at each of its steps: the
// error says so, nothing is left, and the engine's own folder is as it was.
func TestCutLeavesNothing(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test"}`)
	time.Sleep(3 * time.Millisecond)
	until := w.Clock.Stamp()
	w.receives(5000, "")
	w.stop()
	before := readOriginal(t, fs)
	names, err := fs.List("")
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, o journal.CutOptions, want string) error {
		t.Helper()
		o.DataDir, o.Until, o.Now, o.TempDir = "data", until, time.Now(), t.TempDir()
		_, err := journal.CutFolder(o)
		if after, _ := fs.List(""); err != nil && (!strings.Contains(err.Error(), want) || !slices.Equal(after, names)) {
			t.Errorf("%s: %v, left %q", what, err, after)
		}
		return err
	}
	for at, failed := 1, true; failed; at += 5 {
		n := 0
		full := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpLink || op.Kind == errorfs.OpRename {
				if n++; n >= at && op.Kind != errorfs.OpLink {
					return syscall.ENOSPC
				}
			}
			return nil
		}))
		// Each time another folder: Pebble leaves a lock in memory where it fails to open.
		to := fmt.Sprint("cut", at)
		err := try(fmt.Sprint("write ", at), journal.CutOptions{To: to, FS: full}, "no space left")
		if failed = n >= at; failed != (err != nil) || !failed && at < 20 {
			t.Errorf("write %d of %d: %v", at, n, err)
		}
		if err := fs.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
	for at, ended := 1, true; ended; at++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		to := fmt.Sprint("ended", at)
		err := try(fmt.Sprint("step ", at), journal.CutOptions{To: to, FS: fs, Context: ctx, Progress: func(journal.Progress) {
			if steps++; steps == at {
				cancel()
			}
		}}, context.Canceled.Error())
		cancel()
		if at == 1 && steps != 1 {
			t.Errorf("ended while files are copied, it went on for %d steps", steps)
		}
		ended = errors.Is(err, context.Canceled)
		if !ended && (err != nil || at < 5) {
			t.Errorf("step %d of %d: %v", at, steps, err)
		}
		if err := fs.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
	if after := readOriginal(t, fs); !maps.Equal(after.all, before.all) {
		t.Error("the engine's folder has changed")
	}
}

// TestCutBringsDeliveriesBack cuts a journal at an instant after which the statuses of what was delivered
// were dropped. What became of those deliveries is not known any more: they wait, and are held.
func TestCutBringsDeliveriesBack(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	clocks := newClocks()
	r := newReceiver(t)
	r.clock = clocks
	w := newHarness(t, fs, insecure, func(c *Config) { c.Clocks = clocks.sources() })
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	w.receives(1000, "")
	w.receives(2000, "")
	w.becomes("delivered", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 2 })
	until := w.Clock.Stamp()
	clocks.pass(9 * 24 * time.Hour)
	w.receives(3000, "")
	w.becomes("delivered", soon, func() bool {
		return len(w.deliveries(h.ID, "?status=delivered")) >= 1 && w.webhooks.Measure().Running == 0
	})
	w.stop()
	s, err := wal.Open(wal.Options{Dir: "data/journal", FS: fs, SetOnce: layout.SetOnce})
	if err != nil {
		t.Fatal(err)
	}
	var dropped []wal.Op
	err = s.Scan([]byte{'v'}, []byte{'w'}, func(k, _ []byte) (bool, error) {
		dropped = append(dropped, wal.Op{Kind: wal.OpDelete, Key: slices.Clone(k)})
		return len(dropped) < 2, nil // the third is of the newest event
	})
	if err = errors.Join(err, s.WriteRows(wal.Local, dropped...), s.Close()); err != nil || len(dropped) != 2 {
		t.Fatal(len(dropped), err)
	}
	c := cutAt(t, fs, "cut", until)
	if c.Batches == 0 {
		t.Errorf("%+v", c)
	}
	clocks.pass(-9 * 24 * time.Hour)
	again := w.at(serveHarness(t, fs, insecure, from("cut"), func(c *Config) { c.Clocks = clocks.sources() }))
	if all := again.deliveries(h.ID, "?status=pending"); len(all) != 2 {
		t.Errorf("%d deliveries wait, want 2", len(all))
	}
	if n := len(r.all("/a")); n != 3 {
		t.Errorf("%d webhooks, want the 3 of before", n)
	}
}

// TestCutOfCut cuts what was cut, or restored, and that nobody has taken into use: the copy lacks what the
// other lacks, so that it says the earlier instant.
func TestCutOfCut(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.receives(5000, "")
	first := w.Clock.Stamp()
	time.Sleep(3 * time.Millisecond)
	w.receives(5000, "")
	w.Config.alerts.RaiseGeneral("clock", "an alert of the test")
	file := w.snap()
	w.stop()
	cutAt(t, fs, "cut", first)
	taken := restoredAt(t, fs, file, "whole").Mark.Taken
	now := time.Now().Add(time.Hour)
	for from, since := range map[string]pix.Millis{"cut": first, "whole": taken, "data": pix.Millis(now.UnixMilli())} {
		c, err := journal.CutFolder(journal.CutOptions{DataDir: from, To: from + "2", Until: first + 7_200_000, FS: fs, Now: now, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		config := crashConfig(fs)
		config.DataDir, config.SimDir, config.wrapScheme = from+"2", "data/sim", listsNothing
		_, err = Open(config)
		if refused := new(restored.Unaccepted); !errors.As(err, &refused) || refused.Since() != since || c.Mark.Since() != since || (from == "whole") != (refused.Until == 0) {
			t.Errorf("%s: %v, want since %v; %+v", from, err, since, c.Mark)
		}
	}
}

// TestCutDropsLaterAlerts checks that an alert goes which was raised after the instant, also where no record
// is newer.
func TestCutDropsLaterAlerts(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.receives(5000, "")
	settled(t, w.Store)
	w.Config.alerts.RaiseGeneral("clock", "an early alert")
	time.Sleep(3 * time.Millisecond)
	until := w.Clock.Stamp()
	time.Sleep(3 * time.Millisecond)
	w.Config.alerts.RaiseGeneral("clock", "a late alert")
	w.stop()
	if c := cutAt(t, fs, "cut", until); c.Batches != 0 {
		t.Fatalf("%+v", c)
	}
	again := w.at(serveHarness(t, fs, from("cut")))
	if _, got := again.operate("GET", "/admin/alerts", ""); !strings.Contains(got, "an early alert") || strings.Contains(got, "a late alert") {
		t.Error(got)
	}
}
