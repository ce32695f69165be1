package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// operation is one request of the load, with the answer to it. The request can be sent again
// unchanged without a second effect, because it has a key, a reference or an end-to-end id.
type operation struct {
	kind   int
	n      int
	status int // status of the answer; 0: no answer came
	answer string
}

func (o *operation) unanswered() bool { return o.status == 0 }

const kinds = 4

// effects is the change of the account's balance by one operation of each kind, in base
// units.
var effects = [kinds]int64{0: 0, 1: -10_000, 2: 70, 3: 500}

func (o *operation) send(p *process, s shop) (int, []byte, error) {
	switch o.kind {
	case 0:
		return s.ask(p.merchant, "/pix/cash-in", fmt.Sprintf(`{"amount":%d}`, 100+o.n), fmt.Sprintf("charge-%d", o.n))
	case 1:
		return s.ask(p.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":100,"pix_key":"k%d@example.com"}`, o.n), fmt.Sprintf("payout-%d", o.n))
	case 2:
		return p.operate("POST", "/admin/accounts/"+s.ID+"/credits", fmt.Sprintf(`{"amount":70,"type":"internal","reference":"r%d"}`, o.n))
	}
	e2e := fmt.Sprintf("E99999003%s%011d", time.Now().UTC().Format("20060102")+"0000", o.n)
	return p.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500,"end_to_end_id":%q}`, s.Key, e2e))
}

// load sends operations of all kinds from eight clients until the engine no longer answers or
// until is closed.
func load(p *process, s shop, until <-chan struct{}) []*operation {
	return loadOf(p, s, []int{0, 1, 2, 3}, until)
}

// loadOf is load with operations of the given kinds only.
func loadOf(p *process, s shop, of []int, until <-chan struct{}) []*operation {
	var mu sync.Mutex
	var all []*operation
	var count atomic.Int64
	var work sync.WaitGroup
	for c := range 8 {
		work.Go(func() {
			for {
				n := int(count.Add(1))
				o := &operation{kind: of[(n+c)%len(of)], n: n}
				mu.Lock()
				all = append(all, o)
				mu.Unlock()
				status, got, err := o.send(p, s)
				if err == nil {
					o.status, o.answer = status, string(got)
				}
				select {
				case <-until:
					return
				default:
				}
			}
		})
	}
	work.Wait()
	return all
}

// stands sends an operation again. The answer must be the first answer again, if there was
// one.
func (o *operation) stands(p *process, s shop) {
	t := p.t
	status, got, err := o.send(p, s)
	if err != nil || status/100 != 2 {
		t.Errorf("operation %d of kind %d, sent again: %d %s %v", o.n, o.kind, status, got, err)
		return
	}
	if o.status == 0 {
		return
	}
	if o.status/100 != 2 || string(got) != o.answer && o.kind != 2 {
		t.Errorf("operation %d of kind %d was answered %d %s, now %s", o.n, o.kind, o.status, o.answer, got)
		return
	}
	var item struct {
		Transaction string `json:"transaction_id"`
	}
	if o.kind == 3 {
		return // an operation of this kind is checked by the balance
	}
	if err := json.Unmarshal([]byte(o.answer), &item); err != nil || item.Transaction == "" {
		t.Errorf("operation %d of kind %d: %s %v", o.n, o.kind, o.answer, err)
		return
	}
	if !strings.Contains(string(got), item.Transaction) {
		t.Errorf("operation %d of kind %d is another now: %s, was %s", o.n, o.kind, got, o.answer)
	}
	if status, got, err := s.ask(p.merchant, "/transactions/"+item.Transaction, "", ""); err != nil || status != 200 {
		t.Errorf("%s is gone: %d %s %v", item.Transaction, status, got, err)
	}
}

// rest waits until nothing is pending, and returns the balance.
func rest(p *process, s shop) int64 {
	p.t.Helper()
	for range 800 {
		if balance, pending := s.balance(p); pending == 0 {
			return balance
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatal("payouts stay pending")
	return 0
}

// TestKilled checks four things after a kill -9, even if the next processes are killed while
// they recover: every answer given before is still true, unanswered operations can be sent
// again, each operation happens once, and the balance is exact.
func TestKilled(t *testing.T) {
	t.Parallel()
	var dir string
	var p *process
	var s shop
	var all []*operation
	// By chance every operation may have been answered when the kill comes: then try again.
	for try := 0; try < 3 && !slices.ContainsFunc(all, (*operation).unanswered); try++ {
		dir = filepath.Join(t.TempDir(), "data")
		p = start(t, dir)
		s = p.shop()
		killed := make(chan struct{})
		time.AfterFunc(900*time.Millisecond, func() { p.end(syscall.SIGKILL); close(killed) })
		all = load(p, s, killed)
	}
	for _, after := range []time.Duration{5, 15, 40, 80} { // milliseconds after a start at which the process is killed while it recovers
		p := launch(t, dir)
		time.Sleep(after * time.Millisecond)
		p.end(syscall.SIGKILL)
	}
	p = start(t, dir)
	answered, want := 0, int64(1_000_000_000)
	for _, o := range all {
		if o.status != 0 {
			answered++
		}
		o.stands(p, s)
		want += effects[o.kind]
	}
	if answered < 100 || answered == len(all) {
		t.Errorf("%d of %d operations were answered: the kill came too early or too late", answered, len(all))
	}
	if got := rest(p, s); got != want {
		t.Errorf("%d operations, balance %d, want %d", len(all), got, want)
	}
	p.end(syscall.SIGKILL)
	p = start(t, dir)
	if got := rest(p, s); got != want {
		t.Errorf("after another kill the balance is %d, was %d", got, want)
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit %d\n%s", code, p.words())
	}
	code, out, errs := run(t, nil, "journal", "verify", "--data-dir", dir)
	if code != 0 || !strings.HasSuffix(out, "\nok\n") || !strings.Contains(out, fmt.Sprintf("balance   %d\npending   0\n", want)) {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
	damaged(t, dir)
}

// damaged flips one byte in the middle of the newest table, and checks that pixd reports the damage.
// The engine was stopped by SIGTERM: its log has no records, whatever else is in the file, which may
// be an older log that is used again.
func damaged(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(dir, "journal", "*"))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(append(files, more...), func(f string) bool {
		i, err := os.Stat(f)
		return err != nil || i.Size() < 4096 || filepath.Ext(f) != ".sst"
	})
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
	if len(files) == 0 {
		t.Fatal("no file to damage")
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x10
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, nil, "journal", "verify", "--data-dir", dir)
	if code != 1 || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pixd: ") || strings.Contains(out, "ok\n") {
		t.Errorf("verify of a damaged journal (%s): exit %d\n%s\n%s", files[0], code, out, errs)
	}
}

// TestTerminated checks that on SIGTERM the requests in hand are finished and the process
// exits with status 0, even while payouts wait for the scheme.
func TestTerminated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir, "--sim-settle-delay", "1h")
	s := p.shop()
	stop := make(chan struct{})
	var all []*operation
	var work sync.WaitGroup
	work.Go(func() { all = load(p, s, stop) })
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	code := p.end(syscall.SIGTERM)
	close(stop)
	work.Wait()
	if took := time.Since(began); code != 0 || took > 10*time.Second {
		t.Errorf("exit %d after %v\n%s", code, took, p.words())
	}
	p = start(t, dir)
	for _, o := range all {
		if o.status != 0 {
			o.stands(p, s)
		}
	}
	if code := p.end(syscall.SIGINT); code != 0 {
		t.Errorf("SIGINT: exit %d", code)
	}
}
