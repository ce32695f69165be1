package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// heldReads is a file system that can be shut. While it is shut, reads of the journal's
// tables wait if one given function, or a function that it calls, makes them.
type heldReads struct {
	wal.FS
	mu      sync.Mutex
	held    chan struct{} // the function whose reads wait, as it is named in stacks
	who     string        // the function, as it is named in stacks
	waiting int
}

func newSlowReads(fs wal.FS) *heldReads {
	s := &heldReads{}
	s.FS = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt && strings.HasPrefix(op.Path, "data/journal/") {
			s.pass()
		}
		return nil
	}))
	return s
}

func (s *heldReads) pass() {
	s.mu.Lock()
	held := s.held
	if held != nil && strings.Contains(string(debug.Stack()), s.who) {
		s.waiting++
	} else {
		held = nil
	}
	s.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (s *heldReads) shut(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.who = make(chan struct{}), who
}

func (s *heldReads) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

func (s *heldReads) readers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// onTables returns an engine whose rows are in tables, more of them than its start reads, and
// a transaction of its merchant. If background names a function of the background work, that
// function waits in its first read.
func onTables(t *testing.T, background string) (w *harness, reads *heldReads, tx string) {
	t.Helper()
	disk := vfs.NewMem()
	first := newHarness(t, disk, func(c *Config) { c.SettleDelay = time.Hour })
	id, _ := pix.ParseAccountID(first.ID)
	var middle atomic.Pointer[ledger.Transaction]
	var work sync.WaitGroup
	for g := range 32 { // enough merchants' requests that the rows fill many blocks
		work.Go(func() {
			for n := range 40 {
				key := pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("a+%d.%d@pix.test", g, n)}
				a, err := first.Accounts.Do(id, ledger.RequestPayout{Amount: 500, Key: key})
				if err != nil || a.Refusal != nil {
					t.Errorf("%+v %v", a, err)
				}
				if n == 20 {
					middle.Store(a.Tx)
				}
			}
		})
	}
	work.Wait()
	first.stop()
	reads = newSlowReads(disk)
	w = serveHarness(t, reads, func(c *Config) {
		c.SettleDelay = time.Hour
		c.wrap = func(j account.Journal) account.Journal { // Open calls wrap before it starts the background work
			if background != "" {
				reads.shut(background)
			}
			return j
		}
	})
	t.Cleanup(reads.open)
	w.ID, w.Key, w.Sec, w.EVP = first.ID, first.Key, first.Sec, first.EVP
	return w, reads, middle.Load().Public()
}

// stopsAfter ends the engine during a read, and checks that the engine waits for the read.
func (w *harness) stopsAfter(reads *heldReads) {
	w.t.Helper()
	w.becomes("a read", soon, func() bool { return reads.readers() > 0 })
	stopped := make(chan struct{})
	go func() { w.stop(); close(stopped) }()
	select {
	case <-stopped:
		w.t.Error("closed over a read")
	case <-time.After(time.Second):
	}
	reads.open()
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		w.t.Error("not closed after the read")
	}
}

// TestStopUnderSlowReads checks that the journal is closed only after reads that had begun
// before the end: of a merchant's lookup, of an audit, and of the background work of the
// start, which fills the filter and looks for due rows.
func TestStopUnderSlowReads(t *testing.T) {
	t.Parallel()
	t.Run("merchant's lookup", func(t *testing.T) {
		t.Parallel()
		w, reads, tx := onTables(t, "")
		reads.shut("history.(*History)")
		asked := make(chan string, 1)
		go func() {
			status, got, _ := w.send("GET", "http://"+w.MerchantAddr.String()+"/api/external/transactions/"+tx, "", "Authorization", "ApiKey "+w.Key+":"+w.Sec)
			asked <- fmt.Sprint(status, got)
		}()
		w.stopsAfter(reads)
		if got := <-asked; !strings.HasPrefix(got, `200{"worked":true`) || !strings.Contains(got, tx) {
			t.Error(got)
		}
	})
	t.Run("audit", func(t *testing.T) {
		t.Parallel()
		w, reads, _ := onTables(t, "")
		reads.shut("auditor.(*Auditor).Make")
		asked := make(chan string, 1)
		go func() { _, got := w.operate("GET", "/admin/audit", ""); asked <- got }()
		w.stopsAfter(reads)
		if got := <-asked; strings.Contains(got, `"differences":[{`) {
			t.Error(got)
		}
	})
	for _, work := range []string{"engine.(*Engine).fill", "due.(*Scanner).Run"} {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			w, reads, _ := onTables(t, work)
			w.stopsAfter(reads)
		})
	}
}

// TestStopUnderOperatorsSlowRead checks that the stores wait for the reads of operators'
// requests, though the shutdown does not wait for those requests.
func TestStopUnderOperatorsSlowRead(t *testing.T) {
	w, reads, _ := onTables(t, "")
	reads.shut("httpapi/admin")
	asked := make(chan string, 1)
	go func() { _, got := w.operate("GET", "/admin/payouts?status=settled", ""); asked <- got }()
	w.stopsAfter(reads)
	<-asked
}

// slowLookup is a scheme whose directory takes its time.
type slowLookup struct {
	scheme.Scheme
	asked chan<- struct{}
}

// Lookup implements scheme.Scheme.
func (s slowLookup) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	s.asked <- struct{}{}
	time.Sleep(2 * time.Second)
	return s.Scheme.Lookup(ctx, q)
}

// TestStopUnderSlowScheme checks that a payout which waits for the scheme when the engine is told to end is carried out and
// answered.
func TestStopUnderSlowScheme(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	w := newHarness(t, vfs.NewMem(), func(c *Config) {
		c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { return slowLookup{s, asked} }
	})
	answered := make(chan string, 1)
	go func() {
		status, got := w.cashOut(`{"amount":7,"pix_key":"settle-now@pix.test"}`)
		answered <- fmt.Sprint(status, got)
	}()
	<-asked
	w.stop()
	if got := <-answered; !strings.HasPrefix(got, `200{"worked":true`) || !strings.Contains(got, `"settled"`) {
		t.Error(got)
	}
}
