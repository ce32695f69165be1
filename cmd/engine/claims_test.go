package engine

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/account"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// claimKey is the key of the n-th claim of a day.
func claimKey(bucket uint16, n int) []byte {
	var scope [16]byte
	binary.BigEndian.PutUint64(scope[3:], uint64(n)*0x9E3779B97F4A7C15)
	return layout.IdempotencyKey(bucket, 7, scope)
}

// TestDropClaims checks that dropClaims removes the claims of old days only.
func TestDropClaims(t *testing.T) {
	c := crashConfig(vfs.NewMem())
	clocks := newClocks()
	c.Clocks = clocks.sources()
	e, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := populate(e); err != nil { // populate makes records of today, so that the journal's newest record is of today
		t.Fatal(err)
	}
	_, newest, _ := e.Store.Head()
	today := layout.BucketOf(pix.Millis(newest))
	for ago, kept := range []bool{true, true, true, false, false} {
		key := claimKey(today-uint16(ago), 1)
		if err := e.Store.WriteRows(wal.Local, wal.Op{Kind: wal.OpSet, Key: key, Value: make([]byte, 49)}); err != nil {
			t.Fatal(err)
		}
		if err := e.dropClaims(); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := e.Store.Get(key); err != nil || ok != kept {
			t.Errorf("a claim of %d days ago is there: %v, %v", ago, ok, err)
		}
	}
	late := claimKey(today-3, 2)
	if err := e.Store.WriteRows(wal.Local, wal.Op{Kind: wal.OpSet, Key: late, Value: make([]byte, 49)}); err != nil {
		t.Fatal(err)
	}
	e.stated(e.Clock.Now() - 48*3_600_000) // the scheme's stated time says that engine time is two days ahead
	if err := e.dropClaims(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := e.Store.Get(late); err != nil || !ok {
		t.Errorf("a claim that only a doubted clock made old is gone (%v)", err)
	}
	e.Clock.Accept()
	if err := e.dropClaims(); err != nil {
		t.Fatal(err)
	}
	keys, _ := e.Store.Written()
	if err := e.dropClaims(); err != nil {
		t.Fatal(err)
	}
	if again, _ := e.Store.Written(); again != keys {
		t.Error("dropping nothing writes")
	}
}

// TestDoubtedClaimsLast makes a charge while this machine's clock is days behind, sets the clock
// right and starts again. For 24 h from then on a retry gets the first answer, however often
// old claims are dropped; after that the claim is dropped.
func TestDoubtedClaimsLast(t *testing.T) {
	t.Parallel()
	for _, behind := range []time.Duration{30 * time.Hour, 72 * time.Hour, 240 * time.Hour} {
		c := crashConfig(vfs.NewMem())
		clocks := newClocks()
		clocks.wall.Store(-behind.Milliseconds())
		c.Clocks = clocks.sources()
		e, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := populate(e)
		if err != nil {
			t.Fatal(err)
		}
		e.stated(e.Clock.Now() + pix.Millis(behind.Milliseconds())) // the scheme says so
		charge := func(scope byte) (body string, again bool) {
			t.Helper()
			a, err := e.Accounts.Do(ids[0], ledger.CreateCharge{
				Amount: 100, Claim: &ledger.Claim{Scope: [16]byte{9, scope}}, Key: pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000000"},
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(a.Stored.Body), a.Replay
		}
		first, _ := charge(1)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		clocks.wall.Store(0)
		c.alerts = nil
		if e, err = Open(c); err != nil {
			t.Fatal(err)
		}
		for n, later := range []time.Duration{0, time.Hour, 22 * time.Hour} {
			clocks.pass(later)
			charge(byte(10 + n)) // the journal's newest record is of this moment
			if err := e.dropClaims(); err != nil {
				t.Fatal(err)
			}
			if got, again := charge(1); !again || got != first {
				t.Errorf("%v behind, %v later: the retry is a replay: %v", behind, later, again)
			}
		}
		clocks.pass(50 * time.Hour)
		charge(20)
		if err := e.dropClaims(); err != nil {
			t.Fatal(err)
		}
		days, err := layout.ClaimDays(e.Store)
		if err != nil || len(days) == 0 || days[0] < account.OldestClaimDay(e.Clock.Now()) {
			t.Errorf("%v behind: there are claims of the days %v (%v)", behind, days, err)
		}
		if _, again := charge(1); again {
			t.Errorf("%v behind: after three days it is a replay", behind)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// reading is a file system that counts its reads.
type reading struct {
	vfs.FS
	reads *atomic.Int64
}

func (r reading) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := r.FS.Open(name, opts...)
	return readFile{f, r.reads}, err
}

type readFile struct {
	vfs.File
	reads *atomic.Int64
}

func (f readFile) ReadAt(p []byte, at int64) (int, error) {
	f.reads.Add(1)
	return f.File.ReadAt(p, at)
}

// TestMissReadsNoDisk checks that looking up a new key hardly ever reads the disk, even after
// a start, when the filters over claims are not complete yet: the tables' own filters are in
// memory.
func TestMissReadsNoDisk(t *testing.T) {
	kept, asked := 200_000, 20_000
	if testing.Short() {
		kept, asked = 40_000, 4_000
	}
	reads := new(atomic.Int64)
	disk := reading{vfs.NewMem(), reads}
	options := wal.Options{Dir: "journal", FS: disk, MemTableBytes: 4 << 20, CacheBytes: 8 << 20}
	s, err := wal.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < kept; {
		ops := make([]wal.Op, 0, 1000)
		for range 1000 {
			ops = append(ops, wal.Op{Kind: wal.OpSet, Key: claimKey(20_000, n), Value: make([]byte, 49)})
			n++
		}
		if err := s.WriteRows(wal.Local, ops...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = wal.Open(options); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	look := func(from, n int, want bool) int64 {
		before := reads.Load()
		for i := from; i < from+n; i++ {
			if _, ok, err := s.Get(claimKey(20_000, i)); err != nil || ok != want {
				t.Fatalf("claim %d: %v, %v", i, ok, err)
			}
		}
		return reads.Load() - before
	}
	look(0, 1000, true)
	look(kept, 1000, false)
	missed := look(kept+1000, asked, false)
	t.Logf("%d reads for %d new keys", missed, asked)
	if missed > int64(asked/50) {
		t.Errorf("%d reads for %d new keys", missed, asked)
	}
	if hit := look(0, asked, true); hit == 0 {
		t.Error("known keys are read from nowhere: nothing was measured")
	}
}
