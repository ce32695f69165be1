package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"path/filepath"
	"strconv"

	"pixd/actors/account"
	"pixd/actors/pix"
	"pixd/actors/sorted"
	"pixd/wal"
)

// VerifyOptions say what Verify checks. DataDir alone is enough.
type VerifyOptions struct {
	DataDir  string
	TempDir  string         // folder for the derived rows while they are sorted; empty: the system's
	Progress func(Progress) // called often, but never by two goroutines at once; may be nil
	ended    func() error   // asked often; an error of it ends the verification; nil: none does
	FS       wal.FS         // the file system; nil: the disk
	Log      *slog.Logger
}

// Progress is the progress of a verification.
type Progress struct {
	Stage   string // the part that is being verified: "records", "rows" or "tables", and of a snapshot "checksum" or "files" before
	Records uint64
	Rows    uint64
	Batches uint64
	Of      uint64 // number of batches in all, as the journal's head says

	Bytes, OfBytes int64 // of a snapshot's file, or of the files in it
}

// Verified is the result of Verify.
type Verified struct {
	wal.Report
	OfAccounts uint64 // of its Records, those of accounts; the others are the registry's
	Accounts   int
	Rows       uint64
	Balance    big.Int // sum over all accounts in base units, which may be more than one account can hold
	Pending    big.Int
	MEDHeld    big.Int
}

// Verify checks the journal of a data folder without an engine: every checksum and chain;
// every balance, derived again from the records; every head row against the records; and
// every other row both ways: each row that a record makes must exist, and each existing row
// must be made by a record. It stops at the first error and says where that is; the result
// counts everything verified before the error.
func Verify(o VerifyOptions) (Verified, error) {
	return verify(wal.Options{
		Dir: filepath.Join(o.DataDir, Folder), FS: o.FS, ReadOnly: true, Log: o.Log,
		CacheBytes:    32 << 20,
		MemTableBytes: 8 << 20, // small, because a read-only store has in memory only rows that a crash has left in the log
	}, o)
}

func verify(at wal.Options, o VerifyOptions) (out Verified, err error) {
	err = withVerification(at, o, func(v *verification) error {
		err := v.run()
		out = v.verified()
		return err
	})
	return out, err
}

// withVerification opens a journal and begins a verification of it, and ends both.
func withVerification(at wal.Options, o VerifyOptions, do func(*verification) error) (err error) {
	store, err := wal.Open(at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	v := &verification{store: store, tell: o.Progress, ended: o.ended}
	if v.ended == nil {
		v.ended = func() error { return nil }
	}
	if v.tell == nil {
		v.tell = func(Progress) {}
	}
	v.progress.Of, _, _ = store.Head()
	if v.interval, err = headInterval(store); err != nil {
		return err
	}
	if err := v.begin(o.TempDir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.removeTemporary()) }()
	return do(v)
}

// verification is one verification of a journal. It reads the records first, and meanwhile
// derives and sorts their rows; after that it reads the stored rows.
type verification struct {
	store    *wal.Store
	interval uint64 // number of records between two head rows; 0: the store does not name it
	derivers []*deriver
	report   wal.Report
	accounts uint64 // number of records of accounts
	tell     func(Progress)
	ended    func() error
	progress Progress
}

func (v *verification) run() error {
	v.stage("records")
	err := v.records()
	if err == nil {
		err = v.heads()
	}
	if err == nil {
		v.stage("rows")
		err = v.rows()
	}
	if err == nil {
		v.stage("tables")
		err = v.store.VerifyTables(v.ended)
	}
	return err
}

// stage tells what is being verified from now on.
func (v *verification) stage(name string) {
	v.progress.Stage = name
	v.tell(v.progress)
}

// headInterval returns the interval of head rows that the store names, which never changes.
func headInterval(s *wal.Store) (uint64, error) {
	text, ok, err := s.HardSetting(settingHeadEvery)
	if err != nil || !ok {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("setting %q: %w", settingHeadEvery, err)
	}
	return n, nil
}

// verified returns the result up to the point where the verification ended.
func (v *verification) verified() Verified {
	out := Verified{Report: v.report, OfAccounts: v.accounts, Rows: v.progress.Rows}
	for _, d := range v.derivers {
		out.Accounts += len(d.accounts)
		for _, a := range d.accounts {
			add(&out.Balance, a.head.Totals.Balance)
			add(&out.Pending, a.head.Totals.Held)
			add(&out.MEDHeld, a.head.Totals.MEDHeld)
		}
	}
	return out
}

func add(sum *big.Int, a pix.Amount) { sum.Add(sum, big.NewInt(int64(a))) }

// heads finds head rows that are ahead of the account's records, and head rows that are
// missing or too old.
func (v *verification) heads() error {
	for _, d := range v.derivers {
		for id, a := range d.accounts {
			switch {
			case a.at > a.head.Seq:
				return fmt.Errorf("head row of %v stands at record %d, the journal ends at %d", id, a.at, a.head.Seq)
			case v.interval == 0:
			case a.at == 0 && a.head.Seq >= v.interval:
				return fmt.Errorf("head row of %v is missing: every %d records make one, and there are %d", id, v.interval, a.head.Seq)
			case a.at/v.interval < a.head.Seq/v.interval:
				return fmt.Errorf("head row of %v stands at record %d: every %d records make a new one, and there are %d", id, a.at, v.interval, a.head.Seq)
			}
		}
	}
	return nil
}

// rows compares the derived rows with the stored ones.
func (v *verification) rows() error {
	derived, err := v.derived()
	if err != nil {
		return err
	}
	c := v.comparison(derived)
	c.next()
	if err := v.eachRow(c.compareStoredRow); err != nil {
		return err
	}
	return c.finish()
}

// derived returns the rows that the records make.
func (v *verification) derived() (*sorted.Merged, error) {
	var from []*sorted.Sorter
	for _, d := range v.derivers {
		from = append(from, d.sorter)
	}
	return sorted.Merge(from...)
}

// comparison returns a comparison of the derived rows with the stored ones.
func (v *verification) comparison(derived *sorted.Merged) *comparison {
	return &comparison{
		derived: derived, kept: account.OldestClaimDay(pix.Millis(v.report.Time)), young: youngDeliveries(pix.Millis(v.report.Time)), store: v.store,
		account: func(id pix.AccountID) bool { return v.accountOf(id) != nil },
	}
}

// eachRow calls fn for each stored row, and shows progress.
func (v *verification) eachRow(fn func(key, value []byte) error) error {
	return v.store.Rows(func(key, value []byte) error {
		v.progress.Rows++
		if v.progress.Rows%4096 == 0 {
			v.tell(v.progress)
		}
		if err := v.ended(); err != nil {
			return err
		}
		return fn(key, value)
	})
}

// accountOf returns what the records make of an account; nil where it has none.
func (v *verification) accountOf(id pix.AccountID) *accountCheck {
	return v.deriver(wal.Stream(id)).accounts[id]
}
