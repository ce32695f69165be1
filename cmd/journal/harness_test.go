package journal_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/account"
	"pixd/actors/account/accounttest"
	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme/sim"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/wal"
)

// engineOn returns the settings of an engine in memory.
func engineOn(fs wal.FS) engine.Config {
	c := engine.Defaults()
	c.DataDir, c.FS = "data", fs
	c.SettleDelay = 3 * time.Millisecond
	c.SchemeTimeout = 2 * time.Second
	c.Log = slog.New(slog.DiscardHandler)
	c.OnFailure = func(error) {}
	return c
}

const populated = 3 // accounts that populate makes

// populate makes accounts with money.
func populate(tb testing.TB, e *engine.Engine) (ids []pix.AccountID) {
	tb.Helper()
	for n := range populated {
		s := ledger.DefaultSettings()
		s.Name, s.Document = "Loja", "12345678909"
		s.CashOutFee = ledger.Fee{Fixed: 7}
		id := pix.AccountID(n + 1)
		evp := pix.Key{Type: pix.KeyEVP, Value: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)}
		if _, err := e.Registry.RegisterAccount(id, true, s, evp); err != nil {
			tb.Fatal(err)
		}
		if _, err := e.Accounts.Do(id, ledger.Credit{Kind: pix.TxTED, Amount: 10_000_000}); err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// openJournal opens the journal of the data folder "data".
func openJournal(t *testing.T, fs wal.FS) *wal.Store {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: "data/" + journal.Folder, FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verifyOn verifies the journal of the data folder "data", which must have an account.
func verifyOn(fs wal.FS) error {
	v, err := journal.Verify(journal.VerifyOptions{DataDir: "data", FS: fs, Log: slog.New(slog.DiscardHandler)})
	if err == nil && v.Accounts == 0 {
		err = fmt.Errorf("verified %+v", v)
	}
	return err
}

// claimKey is the key of the n-th claim of a day.
func claimKey(bucket uint16, n int) []byte {
	var scope [16]byte
	binary.BigEndian.PutUint64(scope[3:], uint64(n)*0x9E3779B97F4A7C15)
	return layout.IdempotencyKey(bucket, 7, scope)
}

// stored reads records and rows from a store for accounts.
type stored struct{ *wal.Store }

// Record implements account.Rows.
func (s stored) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(s.Store, a, seq)
}

func credits(t *testing.T, e *engine.Engine, n int) {
	t.Helper()
	for i := range n {
		c := ledger.Credit{Kind: pix.TxInternal, Amount: 1}
		if i == 0 {
			c.Reference = fmt.Sprintf("a reference %d", i)
		}
		if a, err := e.Accounts.Do(1, c); err != nil || a.Refusal != nil {
			t.Fatal(a.Refusal, err)
		}
	}
}

// everyRow is the disk of a closed engine with rows of every kind.
func everyRow(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	config := engineOn(disk)
	config.SettleDelay = 1 << 40
	e, err := engine.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	ids := populate(t, e)
	credits(t, e, 600)
	pay := func(key string, n int) {
		c := ledger.RequestPayout{
			Amount: pix.Amount(100 + n), Key: pix.Key{Type: pix.KeyEmail, Value: key}, ExternalID: fmt.Sprint("order-", n),
			Claim: &ledger.Claim{Scope: [16]byte{byte(n), 1}},
		}
		if _, err := e.Accounts.Do(ids[n%len(ids)], c); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 30 {
		pay([...]string{"a@example.com", "settle-now@pix.test", "reject-ac03@pix.test", "not-found@pix.test"}[n%4], n)
	}
	pay("client-limited@pix.test", 31)
	if err := e.Sim.SetCapacity(t.Context(), sim.BucketExhausted); err != nil {
		t.Fatal(err)
	}
	pay("b@example.com", 30)
	key := pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000000"}
	if err := e.Sim.RegisterKey(t.Context(), key, 1); err != nil {
		t.Fatal(err)
	}
	received, _, err := e.Sim.Pay(t.Context(), sim.Payment{Key: key.Value, Amount: 70})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []ledger.Command{
		ledger.RequestRefund{Original: received, Amount: 20},
		ledger.OpenCase{Infraction: "inf-1", EndToEnd: received, Amount: 30, Situation: "SCAM"},
		ledger.OpenCase{Infraction: "inf-2", EndToEnd: received, Amount: 10, Situation: "SCAM"},
		ledger.CancelCase{Infraction: "inf-2", EndToEnd: received},
	} {
		if a, err := e.Accounts.Do(1, c); err != nil || a.Refusal != nil {
			t.Fatal(c, a.Refusal, err)
		}
	}
	if ok, err := e.Registry.ReserveEndToEnd(2, "E99999004202603011200aaaaaaaaaaa"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return disk
}

const oneDay = pix.Millis(24 * 60 * 60 * 1000)

// dated returns the disk of a journal in which account 1 made one charge a day under an
// idempotency key, and was passivated afterwards.
func dated(t *testing.T, days int) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s := openJournal(t, disk)
	at := 20_000 * oneDay
	clock := func() pix.Millis { return at }
	g, err := registry.Open(s, clock)
	if err != nil {
		t.Fatal(err)
	}
	settings := ledger.DefaultSettings()
	settings.Name = "Loja"
	if _, err := g.RegisterAccount(1, true, settings, pix.Key{Type: pix.KeyEVP, Value: "k"}); err != nil {
		t.Fatal(err)
	}
	a := accounttest.Restored(&account.Dependencies{
		Config: &account.Config{
			HeadEvery: journal.HeadEvery, Renderer: plain{},
		},
		Journal: s, Rows: stored{s}, Tail: s, Log: slog.New(slog.DiscardHandler),
		Opening: func(pix.AccountID) (ledger.Settings, bool) { return settings, true },
		Now:     func() pix.Reading { return pix.Reading{Time: at, Clock: at} },
		Entropy: draw, Again: func(pix.AccountID, any) {},
		Write: func(e *wal.Entry) error { s.Append(e); return s.WriteRows(wal.Local) },
	}, 1)
	for range days {
		a.Do(ledger.CreateCharge{Amount: 5, Claim: &ledger.Claim{Scope: [16]byte{1}}, Key: pix.Key{Type: pix.KeyEVP, Value: "k"}})
		if err := s.WriteRows(wal.Local); err != nil {
			t.Fatal(err)
		}
		at += oneDay
	}
	if !a.Passivate() {
		t.Fatal("the account was not passivated")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return disk
}

// plain renders every answer as status 200 without a body.
type plain struct{}

// Render implements account.Renderer.
func (plain) Render(*ledger.Answer, ledger.Style) (ledger.Stored, bool) {
	return ledger.Stored{Code: 200}, true
}

// draw makes the entropy of ids, which counts up.
var draw = func() func() [10]byte {
	n := uint64(0)
	return func() (b [10]byte) {
		n++
		binary.BigEndian.PutUint64(b[2:], n)
		return b
	}
}()
