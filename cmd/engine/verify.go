package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/big"
	"path/filepath"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/wal"
)

// Verified is what an offline check has vouched for.
type Verified struct {
	wal.Report
	Accounts int
	Balance  big.Int // sums over all accounts, base units: they may pass what one account can hold
	Pending  big.Int
	MEDHeld  big.Int
}

// Verify checks the journal of a data folder without an engine: every
// checksum and chain, every balance derived again from the records, and every
// head row against them. It stops at the first thing it cannot vouch for and
// says where; what it had vouched for until then is in the result.
func Verify(dataDir string, log *slog.Logger) (Verified, error) {
	return verify(wal.Options{Dir: filepath.Join(dataDir, journalFolder), ReadOnly: true, Log: log})
}

func verify(o wal.Options) (Verified, error) {
	store, err := wal.Open(o)
	if err != nil {
		return Verified{}, err
	}
	v := &verification{store: store, registry: registry.NewMachine(), accounts: map[ledger.AccountID]*derived{}}
	report, err := store.Verify(v.record)
	if err == nil {
		err = v.finish()
	}
	if err == nil {
		err = store.VerifyTables()
	}
	out := Verified{Report: report, Accounts: len(v.accounts)}
	for _, a := range v.accounts {
		add(&out.Balance, a.head.Totals.Balance)
		add(&out.Pending, a.head.Totals.Pending)
		add(&out.MEDHeld, a.head.Totals.MEDHeld)
	}
	if closed := store.Close(); err == nil {
		err = closed
	}
	return out, err
}

func add(sum *big.Int, a ledger.Amount) { sum.Add(sum, big.NewInt(int64(a))) }

type verification struct {
	store    *wal.Store
	registry *registry.Machine
	accounts map[ledger.AccountID]*derived
	claims   uint64 // of end-to-end ids, each with its row
}

// derived is an account as its records so far have made it, and what its head
// row claims, to be compared on the way past.
type derived struct {
	head    ledger.Account
	claimed []byte
	at      uint64 // sequence of the head row; 0: none
}

func (v *verification) record(w wal.Record) error {
	if w.Stream == registry.Stream {
		r := registry.Record{Kind: registry.RecordKind(w.Kind), Seq: w.Seq, Time: ledger.Millis(w.Time)}
		if err := r.Decode(w.Body); err != nil {
			return err
		}
		return v.entry(&r)
	}
	a, err := v.account(ledger.AccountID(w.Stream))
	if err != nil {
		return err
	}
	r := ledger.Record{Account: a.head.ID, Seq: w.Seq, Time: ledger.Millis(w.Time), Kind: ledger.RecordKind(w.Kind)}
	if err := r.Decode(w.Body); err != nil {
		return err
	}
	if err := a.head.Apply(&r); err != nil {
		return err
	}
	return a.compare(w.Sum)
}

// entry takes a record of the registry in, and holds its rows against it.
func (v *verification) entry(r *registry.Record) error {
	if err := v.registry.Apply(r); err != nil {
		return err
	}
	v.registry.Durable(r.Seq)
	for _, row := range registry.Project(r) {
		there, ok, err := v.store.Get(row.Key)
		if err != nil {
			return err
		}
		if !ok || !bytes.Equal(there, row.Value) {
			return fmt.Errorf("claim row %q is not what record %d of the registry makes", row.Key, r.Seq)
		}
		v.claims++
	}
	return nil
}

func (v *verification) account(id ledger.AccountID) (*derived, error) {
	if a := v.accounts[id]; a != nil {
		return a, nil
	}
	a := &derived{head: ledger.Account{ID: id}}
	row, ok, err := v.store.Get(ledger.HeadKey(id))
	if err != nil {
		return nil, err
	}
	if ok && len(row) < 8 {
		return nil, fmt.Errorf("head row of %v: %d bytes", id, len(row))
	}
	if ok {
		a.claimed, a.at = row, binary.BigEndian.Uint64(row)
	}
	v.accounts[id] = a
	return a, nil
}

// compare holds the head row against the records, at the record it claims.
func (a *derived) compare(sum uint64) error {
	if a.at == 0 || a.head.Seq != a.at {
		return nil
	}
	want := binary.BigEndian.AppendUint64(nil, a.head.Seq)
	want = binary.BigEndian.AppendUint64(want, sum)
	want = binary.BigEndian.AppendUint64(want, uint64(a.head.Time))
	want = append(want, a.head.EncodeHead()...)
	if string(want) != string(a.claimed) {
		return fmt.Errorf("head row of %v at record %d is not what the records make", a.head.ID, a.at)
	}
	return nil
}

// finish finds head rows ahead of their records, and claims without one.
func (v *verification) finish() error {
	for id, a := range v.accounts {
		if a.at > a.head.Seq {
			return fmt.Errorf("head row of %v stands at record %d, the journal ends at %d", id, a.at, a.head.Seq)
		}
	}
	lo, hi := registry.ClaimRange()
	rows := uint64(0)
	if err := v.store.Scan(lo, hi, func(_, _ []byte) (bool, error) { rows++; return true, nil }); err != nil {
		return err
	}
	if rows != v.claims {
		return fmt.Errorf("there are %d claim rows, and records for %d", rows, v.claims)
	}
	return nil
}
