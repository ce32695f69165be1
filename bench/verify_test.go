package bench

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
)

// The bounds on `pixd journal verify` that BenchmarkVerify checks: the least records per
// second, and the most memory in bytes.
const (
	verifiedPerSecond = 80_000
	verifyBytes       = 512 << 20
)

// BenchmarkVerify measures how fast a journal of a million records (or of the number in
// PIXD_BENCH_VERIFY) is verified together with its rows, and how much memory that takes at
// most. If PIXD_BENCH_VERIFY_DIR names a data folder, that folder is verified; if the
// folder does not exist yet, it is made and left there.
func BenchmarkVerify(b *testing.B) {
	n := 1_000_000
	if v, err := strconv.Atoi(os.Getenv("PIXD_BENCH_VERIFY")); err == nil {
		n = v
	}
	dir := os.Getenv("PIXD_BENCH_VERIFY_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(dir + "/journal"); err != nil {
		fillJournal(b, dir, n)
	}
	for b.Loop() {
		verifyOnce(b, dir)
	}
}

func verifyOnce(b *testing.B, dir string) {
	c := exec.Command(os.Args[0], dir)
	c.Env, c.Stderr = append(os.Environ(), roleVariable+"="+roleVerify), os.Stderr
	began := time.Now()
	out, err := c.Output()
	took := time.Since(began)
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(out))
	var numbers [3]int
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(fields[i]); err != nil {
			b.Fatal(err)
		}
	}
	records, peak := numbers[0], numbers[2]<<10
	rate := float64(records) / took.Seconds()
	fmt.Printf("Verify                 %d records, %d rows in %v: %.0f records/s, %d MiB at its peak\n",
		records, numbers[1], took.Round(100*time.Millisecond), rate, peak>>20)
	b.ReportMetric(rate, "records/s")
	b.ReportMetric(float64(peak)/1e6, "MB")
	if rate < verifiedPerSecond || peak > verifyBytes {
		b.Errorf("%.0f records/s, %d MiB", rate, peak>>20)
	}
}

// playVerify verifies the data folder in the first argument.
func playVerify() {
	v, err := journal.Verify(journal.VerifyOptions{DataDir: os.Args[1], Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:") // not from rusage, whose peak includes the memory of the parent process
	fmt.Println(v.Records, v.Rows, strings.Fields(peak)[0])
	os.Exit(0)
}

// fillJournal has an engine write n records about payouts of a thousand accounts. Every
// second payout has an idempotency key and an end-to-end id that the merchant chose.
func fillJournal(b *testing.B, dir string, n int) {
	e, err := engine.Open(quietEngine(dir))
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	ids := openAccounts(e, 1000)
	var made atomic.Int64
	var wait sync.WaitGroup
	for range 1024 {
		wait.Go(func() {
			for i := int(made.Add(1)); i <= n/3; i = int(made.Add(1)) {
				payOne(e, ids[i*7919%len(ids)], i)
			}
		})
	}
	wait.Wait()
	time.Sleep(2 * time.Second) // by then the last payout has settled
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	fmt.Printf("Verify                 %d records written in %v\n", n, time.Since(began).Round(time.Second))
}

func openAccounts(e *engine.Engine, n int) []pix.AccountID {
	ids := make([]pix.AccountID, n)
	for i := range ids {
		ids[i] = machine.NewAccountID()
		s := ledger.DefaultSettings()
		s.Name, s.Document = "Loja", "12345678909"
		key := pix.Key{Type: pix.KeyEVP, Value: fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)}
		if _, err := e.Registry.RegisterAccount(ids[i], true, s, key); err != nil {
			panic(err)
		}
		if _, err := e.Accounts.Do(ids[i], ledger.Credit{Kind: pix.TxTED, Amount: 1 << 50, Reference: "start"}); err != nil {
			panic(err)
		}
	}
	return ids
}

func payOne(e *engine.Engine, id pix.AccountID, i int) {
	pay := ledger.RequestPayout{Amount: 100, Key: pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("k%d@example.com", i)}}
	if i%2 == 0 {
		pay.ExternalID = fmt.Sprintf("order-%d", i)
		pay.Claim = &ledger.Claim{}
		binary.BigEndian.PutUint64(pay.Claim.Scope[:], uint64(i)*0x9e3779b97f4a7c15)
	}
	if a, err := e.Accounts.Do(id, pay); err != nil || a.Refusal != nil {
		panic(fmt.Sprint(a.Refusal, err))
	}
}
