package engine

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/snapshot"
)

var (
	newSnapshot  = flag.Bool("snapshot.new", false, "add a snapshot of this version to testdata")
	newIncrement = flag.Bool("snapshot.increment", false, "add an increment of this version, with its base, to a folder of its own in testdata")
)

// kept is what must be found in a snapshot in testdata. The merchant's secret is one of a test.
type kept struct {
	Account, Key, Secret       string
	Balance, Pending, MEDHeld  int64
	Records, Rows              uint64
	Transactions, Statement    int
	Charge, Answer             string // the request of a charge under the key "charge-1", and its answer
	Refund, Case, Subscription string
	Operator                   bool // there is an operator with a name, who has operatorsToken
}

const operatorsToken = "the token of an operator of a test"

// TestOldSnapshots restores each snapshot in testdata, verifies it, and serves it. Formats are
// for ever: this test never changes, and no file there is replaced. A version that writes a new
// kind of record adds a snapshot with -snapshot.new.
func TestOldSnapshots(t *testing.T) {
	t.Parallel()
	if *newSnapshot {
		addSnapshot(t)
	}
	if *newIncrement {
		addIncrement(t)
	}
	for _, file := range oldSnapshots(t) {
		fs := vfs.NewMem()
		var want kept
		text, err := os.ReadFile(strings.TrimSuffix(string(file), ".snap") + ".json")
		if err != nil || json.Unmarshal(text, &want) != nil {
			t.Fatal(err)
		}
		want.stands(t, fs, file.put(t, fs))
	}
}

// oldSnapshot is the path of a snapshot in testdata.
type oldSnapshot string

// oldSnapshots are the full snapshots in testdata, and the increments in its folders.
func oldSnapshots(t *testing.T) (all []oldSnapshot) {
	t.Helper()
	described, err := filepath.Glob("testdata/*.json")
	increments, err2 := filepath.Glob("testdata/*/*.json")
	if err != nil || err2 != nil || len(described) < 3 || len(increments) == 0 {
		t.Fatal(described, increments, err, err2)
	}
	for _, file := range append(described, increments...) {
		all = append(all, oldSnapshot(strings.TrimSuffix(file, ".json")+".snap"))
	}
	return all
}

// put puts the snapshot, and those in its folder, on another file system, and returns its name there.
func (o oldSnapshot) put(t *testing.T, fs vfs.FS) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(string(o)), "*.snap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		replace(t, fs, filepath.Base(file), b)
	}
	return filepath.Base(string(o))
}

func (k *kept) stands(t *testing.T, fs *vfs.MemFS, file string) {
	t.Helper()
	v := restoredAt(t, fs, file, "data")
	if f := &v.Found; f.Balance.Cmp(big.NewInt(k.Balance)) != 0 || f.Pending.Cmp(big.NewInt(k.Pending)) != 0 || f.MEDHeld.Cmp(big.NewInt(k.MEDHeld)) != 0 ||
		f.Records != k.Records || f.Rows != k.Rows || f.Accounts != 1 {
		t.Errorf("%s: %+v, want %+v", file, v.Found, k)
	}
	// By the clock it is the moment of the snapshot: years later, what waits in it would end.
	clocks := newClocks()
	clocks.wall.Store(-time.Since(v.Manifest.CreatedAt).Milliseconds())
	w := &harness{t: t, ID: k.Account, Key: k.Key, Sec: k.Secret}
	w = w.at(serveHarness(t, fs, func(c *Config) { c.AcceptRestoredGap, c.Clocks = true, clocks.sources() }))
	if status, got := w.balance(); status != 200 || !strings.Contains(got, fmt.Sprintf(`"balance":%d`, k.Balance)) {
		t.Errorf("%s: %d %s", file, status, got)
	}
	for path, n := range map[string]int{"/transactions?per_page=100": k.Transactions, "/statement?per_page=100": k.Statement} {
		if all := w.lists(path); len(all) != n {
			t.Errorf("%s: %s has %d entries, want %d", file, path, len(all), n)
		}
	}
	for _, path := range []string{"/transactions/" + k.Refund, "/med/" + k.Case, "/webhooks/" + k.Subscription + "/deliveries"} {
		if status, got := w.get(path); status != 200 {
			t.Errorf("%s: %s: %d %s", file, path, status, got)
		}
	}
	if status, got, _ := w.post("/pix/cash-in", k.Charge, "Idempotency-Key", "charge-1"); status != 200 || got != k.Answer {
		t.Errorf("%s: the answer under a key: %d %s, want %s", file, status, got, k.Answer)
	}
	w.paidOut(`{"amount":100,"pix_key":"settle-now@pix.test"}`)
	if k.Operator != (w.Operators.WithToken(operatorsToken) != nil) {
		t.Errorf("%s: an operator with a name: want one %t", file, k.Operator)
	}
	if _, err := w.Operators.Add("bia", registry.Viewer, "another"); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	w.stop()
	if err := verifyOn(fs); err != nil {
		t.Errorf("%s: after it was served: %v", file, err)
	}
}

// addSnapshot makes a snapshot with something of everything, and adds it to testdata.
func addSnapshot(t *testing.T) {
	t.Helper()
	fs := vfs.NewMem()
	w, k := populated(t, fs)
	file := w.snap()
	w.stop()
	k.add(t, fs, file, "testdata")
}

// addIncrement makes an increment with something of everything, and adds it and its base, from which it takes a
// table, to testdata.
func addIncrement(t *testing.T) {
	t.Helper()
	fs := vfs.NewMem()
	w, k := populated(t, fs, func(c *Config) { c.memTable = 32 << 10 })
	base := w.snap()
	w.paidOut(`{"amount":400,"pix_key":"settle-now@pix.test"}`)
	settled(t, w.Store)
	k.Transactions, k.Statement = len(w.lists("/transactions?per_page=100")), len(w.lists("/statement?per_page=100"))
	file := w.snapUpon("auto")
	w.stop()
	s, err := snapshot.Open(fs, file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.Manifest.Files, func(f snapshot.File) bool { return f.In != "" && filepath.Ext(f.Name) == ".sst" }) {
		t.Fatal("no table is in the base: try again")
	}
	dir := filepath.Join("testdata", strings.TrimSuffix(filepath.Base(file), ".snap"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k.add(t, fs, file, dir)
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(base)), contents(t, fs, base), 0o600); err != nil {
		t.Fatal(err)
	}
}

// populated is an engine with something of everything.
func populated(t *testing.T, fs vfs.FS, more ...func(*Config)) (*harness, *kept) {
	t.Helper()
	r := newReceiver(t)
	w := newHarness(t, fs, append(more, insecure, func(c *Config) { c.SimDir = "/srv/pixd/sim" })...)
	h := w.hooks(r.URL+"/a", allKinds)
	if _, err := w.Operators.Add("ana", registry.Admin, operatorsToken); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Operators.Approve(pix.TxID{1}, "ana"); err != nil {
		t.Fatal(err)
	}
	p, q := w.receives(100_000, ""), w.receives(50_000, "")
	const charge = `{"amount":100,"external_id":"order-1"}`
	status, answer, _ := w.post("/pix/cash-in", charge, "Idempotency-Key", "charge-1")
	if status != 200 {
		t.Fatal(status, answer)
	}
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test","external_id":"order-7"}`)
	w.becoming(w.paidOut(`{"amount":700,"pix_key":"reject-ac03@pix.test"}`).TransactionID, "rejected")
	w.paidOut(`{"amount":800,"pix_key":"returned@pix.test"}`)
	w.paidOut(`{"amount":900,"pix_key":"silent@pix.test"}`)
	w.paidOut(`{"amount":300,"pix_key":"client-limited@pix.test"}`)
	w.paidOut(`{"amount":200,"pix_key":"bucket-exhausted@pix.test"}`)
	if status, got := w.operate("PATCH", "/admin/accounts/"+w.ID, `{"approval_threshold":100000}`); status != 200 {
		t.Fatal(status, got)
	}
	w.paidOut(`{"amount":1100,"pix_key":"approved@example.com"}`)
	refund := w.taken(`"amount":100,`, p.ID)
	w.ends(refund.TransactionID, "settled")
	if status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":70,"txid":"Order7"}`, w.EVP)); status != 201 {
		t.Fatal(status, got)
	}
	w.ends(w.taken(`"amount":50,"external_id":"refund-1",`, p.ID).TransactionID, "settled")
	if status, got, _ := w.post("/webhooks/"+h.ID+"/test", `{}`); status != 202 {
		t.Fatal(status, got)
	}
	w.rotated(h.ID)
	_, open := w.reports(p, 5000)
	_, closed := w.reports(q, 10_000)
	w.analysed(closed.ID, "AGREED")
	w.becomes("everything delivered", 10*time.Second, func() bool {
		return len(w.lists("/transactions?status=processing")) >= 3 && w.webhooks.Measure().Running == 0 && len(w.deliveries(h.ID, "?status=delivered")) >= 10
	})
	settled(t, w.Store)
	return w, &kept{
		Account: w.ID, Key: w.Key, Secret: w.Sec, Charge: charge, Answer: answer,
		Refund: refund.TransactionID, Case: open.ID, Subscription: h.ID, Operator: true,
		Transactions: len(w.lists("/transactions?per_page=100")), Statement: len(w.lists("/statement?per_page=100")),
	}
}

// add notes what is in a snapshot, and adds both to a folder.
func (k *kept) add(t *testing.T, fs *vfs.MemFS, file, dir string) {
	t.Helper()
	v := restoredAt(t, fs, file, "new")
	k.Balance, k.Pending, k.MEDHeld, k.Records, k.Rows = v.Found.Balance.Int64(), v.Found.Pending.Int64(), v.Found.MEDHeld.Int64(), v.Found.Records, v.Found.Rows
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, filepath.Base(file))
	for path, b := range map[string][]byte{name: contents(t, fs, file), strings.TrimSuffix(name, ".snap") + ".json": append(text, '\n')} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
