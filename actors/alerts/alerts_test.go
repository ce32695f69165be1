package alerts

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"pixd/actors/account"
	"pixd/actors/clock"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// now is the machine's wall clock.
func now() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

func openBook(t *testing.T, fs wal.FS) *wal.Store {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: "journal", FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// settled waits until everything appended is durable.
func settled(t *testing.T, s *wal.Store) {
	t.Helper()
	if err := s.WriteRows(wal.Local); err != nil {
		t.Fatal(err)
	}
}

// silent makes alerts that are not counted, with log lines that nobody reads.
func silent() *Alerts {
	return New(Options{Log: slog.New(slog.DiscardHandler), Wall: now, Secret: func(n int) []byte { b := make([]byte, n); _, _ = rand.Read(b); return b }})
}

// engineTime is engine time by the wall clock.
func engineTime() *clock.Clock {
	return clock.New(clock.Sources{Wall: now, Elapsed: now}, 0)
}

// TestAlertsAreShared checks that alerts take a position in the journal, so that every copy of it has them.
func TestAlertsAreShared(t *testing.T) {
	s := openBook(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	m := silent()
	m.RaiseGeneral("damage", "early")
	before, _, _ := s.Head()
	m.Open(s, engineTime())
	settled(t, s)
	opened, _, _ := s.Head()
	m.RaiseGeneral("damage", "later")
	settled(t, s)
	if raised, _, _ := s.Head(); opened != before+1 || raised != opened+1 {
		t.Errorf("positions %d, %d once it is open, %d", before, opened, raised)
	}
}

// TestAlertsAreKept checks that alerts raised before the journal was open, and after it,
// are read in order and page by page after a restart, until they are dropped for their age.
func TestAlertsAreKept(t *testing.T) {
	fs := vfs.NewMem()
	s := openBook(t, fs)
	m := silent()
	m.RaiseGeneral("damage", "early: a block")
	m.Open(s, engineTime())
	m.Raise(7, ledger.Alert{Kind: "quarantine", Message: "account closed off"})
	late := ledger.Alert{Kind: ledger.AlertLate, Public: "PIXOUT7", Message: "late"}
	s.Append(&wal.Entry{Ops: []wal.Op{m.Row(8, late, now())}})
	m.Raised(8, late) // Raised does not write the row: the Append above did
	settled(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openBook(t, fs)
	defer func() { _ = s.Close() }()
	b := silent()
	b.Open(s, engineTime())
	var reported []string
	since := pix.Millis(time.Now().Add(-time.Minute).UnixMilli())
	after, ids := "", map[string]bool{}
	for n := 0; n == 0 || after != ""; n++ {
		all, next, err := b.Read(since, false, after, 2)
		if err != nil || len(all) > 2 || n > 2 {
			t.Fatalf("page %d: %v %v", n, all, err)
		}
		for _, a := range all {
			reported = append(reported, fmt.Sprintf("%s %s %s %s", a.Kind, a.Account, a.Transaction, a.Message))
			if ids[a.ID] || !strings.HasPrefix(a.ID, "alr_") || a.At < since || a.At > now() {
				t.Errorf("alert %+v", a)
			}
			ids[a.ID] = true
		}
		after = next
	}
	want := []string{
		"damage   early: a block", "quarantine " + pix.AccountID(7).String() + "  account closed off",
		"late_settlement " + pix.AccountID(8).String() + " PIXOUT7 late",
	}
	if got, want := strings.Join(sortedLines(reported), "\n"), strings.Join(sortedLines(want), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	forth, _, err := b.Read(since, false, "", 9)
	var back []Alert
	for n, after := 0, ""; n == 0 || after != ""; n++ {
		all, next, err := b.Read(since, true, after, 2)
		if err != nil || len(all) > 2 || n > 2 {
			t.Fatalf("page %d, the newest first: %v %v", n, all, err)
		}
		back, after = append(back, all...), next
	}
	if slices.Reverse(back); err != nil || !slices.Equal(back, forth) {
		t.Errorf("the newest first: %v, the oldest first: %v, %v", back, forth, err)
	}
	if all, _, err := b.Read(forth[1].At+1, true, "", 9); err != nil || slices.ContainsFunc(all, func(a Alert) bool { return a.At <= forth[1].At }) {
		t.Errorf("the newest first, since %d: %v %v", forth[1].At+1, all, err)
	}
	if all, next, err := b.Read(forth[2].At+1, true, alertName(forth[0].At, forth[0].ID), 9); len(all) > 0 || next != "" || err != nil {
		t.Errorf("the newest first, behind one from before since: %v %q %v", all, next, err)
	}
	if all, _, err := b.Read(now()+1000, false, "", 9); len(all) > 0 || err != nil {
		t.Errorf("from the future: %v %v", all, err)
	}
	if all, _, err := b.Read(1<<60, false, "", 9); len(all) > 0 || err != nil {
		t.Errorf("from beyond what a key says: %v %v", all, err)
	}
	if err := b.Drop(since); err != nil {
		t.Fatal(err)
	}
	if all, _, err := b.Read(0, false, "", 9); len(all) != 3 || err != nil {
		t.Errorf("dropped too early: %v %v", all, err)
	}
	if err := b.Drop(now() + 1000); err != nil {
		t.Fatal(err)
	}
	if all, _, err := b.Read(0, false, "", 9); len(all) != 0 || err != nil {
		t.Errorf("not dropped: %v %v", all, err)
	}
}

// sortedLines sorts lines, because alerts raised in the same millisecond have no fixed order.
func sortedLines(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

// TestAlertForm checks that an alert in the documented stored bytes can be read.
func TestAlertForm(t *testing.T) {
	const key = "21616c6572742f313737323336363430303230312f616c725f61"
	const value = "a4016f6c6174655f736574746c656d656e7402656163635f3703675049584f55543704646c617465"
	k, _ := hex.DecodeString(key)
	v, _ := hex.DecodeString(value)
	a, err := readAlert(k, v)
	if err != nil || a.ID != "alr_a" || a.Kind != "late_settlement" || a.Account != "acc_7" || a.Transaction != "PIXOUT7" || a.Message != "late" || a.At != 1772366400201 {
		t.Errorf("%+v %v", a, err)
	}
	b := silent()
	b.Wall = func() pix.Millis { return a.At }
	b.write(alertForm{Kind: a.Kind, Account: a.Account, Transaction: a.Transaction, Message: a.Message})
	if got := hex.EncodeToString(b.early[0].Key); !strings.HasPrefix(got, key[:len(key)-2]) || hex.EncodeToString(b.early[0].Value) != value {
		t.Errorf("stored as %s %x", got, b.early[0].Value)
	}
	for _, bad := range [][2][]byte{{[]byte("!alert/x/y"), v}, {k[:12], v}, {k, v[:5]}} {
		if a, err := readAlert(bad[0], bad[1]); err == nil {
			t.Errorf("%q %x was read: %+v", bad[0], bad[1], a)
		}
	}
}

// TestAlertsOfOneMillisecond checks that alerts of one millisecond are read in the order in which
// they were raised.
func TestAlertsOfOneMillisecond(t *testing.T) {
	s := openBook(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	at := clock.Sources{Wall: func() pix.Millis { return 1_790_000_000_000 }, Elapsed: func() pix.Millis { return 0 }}
	m := silent()
	m.Open(s, clock.New(at, 0))
	const many = 100
	for n := range many {
		m.RaiseGeneral("damage", fmt.Sprint(n))
	}
	settled(t, s)
	all, _, err := m.Read(0, false, "", many)
	if err != nil || len(all) != many {
		t.Fatal(len(all), err)
	}
	for n := range all {
		if all[n].Message != fmt.Sprint(n) {
			t.Fatalf("alert %d says %s", n, all[n].Message)
		}
	}
}

// TestOldAlertsAreDropped checks that DropOld deletes the alerts that are older than Kept, but
// none while engine time is doubted.
func TestOldAlertsAreDropped(t *testing.T) {
	s := openBook(t, vfs.NewMem())
	defer func() { _ = s.Close() }()
	c := engineTime()
	a := silent()
	a.Open(s, c)
	kept := pix.Millis(Kept / time.Millisecond)
	old, young := a.Row(7, ledger.Alert{Kind: "damage"}, now()-kept-60_000), a.Row(7, ledger.Alert{Kind: "damage"}, now()-kept+60_000)
	rows := []wal.Op{old, young}
	for range droppedAtOnce + 1 {
		rows = append(rows, a.Row(7, ledger.Alert{Kind: "damage"}, now()-kept-60_000))
	}
	if err := s.WriteRows(wal.Shared, rows...); err != nil {
		t.Fatal(err)
	}
	before, _, _ := s.Head()
	for _, doubted := range []bool{true, false} {
		at := c.Now()
		if doubted {
			at += 3_600_000
		}
		c.Stated(at)
		if err := a.DropOld(); err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			key  []byte
			want bool
		}{{old.Key, doubted}, {young.Key, true}} {
			if _, there, err := s.Get(row.key); there != row.want || err != nil {
				t.Errorf("doubted %v: %s is there: %v, %v", doubted, row.key, there, err)
			}
		}
	}
	if all, _, err := a.Read(0, false, "", len(rows)); len(all) != 1 || err != nil {
		t.Errorf("%d alerts are left, %v", len(all), err)
	}
	if after, _, _ := s.Head(); after != before {
		t.Errorf("the journal ends at %d, was %d: each node drops alerts for itself", after, before)
	}
}

// TestAlertsAreTold checks what the log and the counter say of an alert, and which accounts count as
// quarantined.
func TestAlertsAreTold(t *testing.T) {
	var log strings.Builder
	a := silent()
	a.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return at
	}}))
	a.Count = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "alerts"}, []string{"kind"})
	late := ledger.Alert{Kind: ledger.AlertLate, Public: "PIXOUT7", Message: "late"}
	a.RaiseGeneral("low_disk", "full")
	a.Raised(8, late)
	a.Raise(7, ledger.Alert{Kind: account.AlertQuarantine, Message: "closed off"})
	a.Raise(0, ledger.Alert{Kind: account.AlertQuarantine, Message: "of no account"})
	a.Raised(9, ledger.Alert{Kind: account.AlertQuarantine, Message: "closed off"})
	seven, eight, nine := pix.AccountID(7).String(), pix.AccountID(8).String(), pix.AccountID(9).String()
	want := `level=ERROR msg=full alert=low_disk
level=ERROR msg=late alert=late_settlement account=` + eight + ` transaction=PIXOUT7
level=ERROR msg="closed off" alert=quarantine account=` + seven + `
level=ERROR msg="of no account" alert=quarantine
level=ERROR msg="closed off" alert=quarantine account=` + nine + `
`
	if log.String() != want {
		t.Errorf("%s, want %s", log.String(), want)
	}
	for kind, n := range map[string]float64{"low_disk": 1, "late_settlement": 1, "quarantine": 3, "damage": 0} {
		var m dto.Metric
		if err := a.Count.WithLabelValues(kind).Write(&m); err != nil || m.GetCounter().GetValue() != n {
			t.Errorf("%s: %v, want %v (%v)", kind, m.GetCounter(), n, err)
		}
	}
	if got := a.Quarantined(); !slices.Equal(got, []pix.AccountID{7, 9}) {
		t.Errorf("quarantined: %v", got)
	}
}
