package registry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// EndToEndClaim is an end-to-end id that a merchant named itself, and whose it is
// from then on.
type EndToEndClaim struct {
	EndToEnd string           `cbor:"1,keyasint"`
	Account  ledger.AccountID `cbor:"2,keyasint"`
}

// ErrEndToEndTaken says that another account has used the end-to-end id.
var ErrEndToEndTaken = errors.New("end-to-end id was used by another account")

// claims are the end-to-end claims that were decided and may not be on disk yet,
// in the order of their records. Those that are have a row: what is held in memory
// does not grow with them.
type claims struct {
	owner map[string]ledger.AccountID
	line  []claimed
}

type claimed struct {
	seq      uint64
	endToEnd string
}

func (c *claims) take(r *Record) {
	if c.owner == nil {
		c.owner = map[string]ledger.AccountID{}
	}
	c.owner[r.EndToEnd.EndToEnd] = r.EndToEnd.Account
	c.line = append(c.line, claimed{r.Seq, r.EndToEnd.EndToEnd})
}

// forget drops what has become durable.
func (c *claims) forget(durable uint64) {
	n := 0
	for ; n < len(c.line) && c.line[n].seq <= durable; n++ {
		delete(c.owner, c.line[n].endToEnd)
	}
	if c.line = c.line[n:]; len(c.line) == 0 {
		c.owner, c.line = nil, nil
	}
}

// EndToEndRows is what the rows say of an end-to-end id; 0 is nobody.
type EndToEndRows struct {
	Claimed ledger.AccountID // by its claim
	Used    ledger.AccountID // by a payout under it
	Derived ledger.AccountID // by a payout whose id was derived and ends like it
}

// ClaimEndToEnd reserves an end-to-end id for an account. What the account has reserved
// already changes nothing. ErrEndToEndTaken: another account has used it, or has
// derived its last 11 characters, whatever the minute: who saw one derived id could
// name the next before its owner does.
func (m *Machine) ClaimEndToEnd(c EndToEndClaim, rows func(endToEnd string) (EndToEndRows, error)) ([]Record, error) {
	if m.accounts[c.Account] == nil {
		return nil, ErrUnknownAccount
	}
	// What is under way first: what is no longer there has a row by now.
	owner := m.claims.owner[c.EndToEnd]
	var found EndToEndRows
	if owner == 0 {
		var err error
		if found, err = rows(c.EndToEnd); err != nil {
			return nil, err
		}
		owner = found.Claimed
	}
	switch {
	case owner == c.Account:
		return nil, nil
	case owner != 0, found.Used != 0 && found.Used != c.Account, found.Derived != 0 && found.Derived != c.Account:
		return nil, ErrEndToEndTaken
	}
	return []Record{{Kind: EndToEndClaimed, EndToEnd: &c}}, nil
}

// Durable tells the machine up to which of its records everything is on disk.
func (m *Machine) Durable(seq uint64) { m.claims.forget(seq) }

// rowClaim begins the key of a claim's row. docs/formats.md has a drawing.
const rowClaim = 'c'

// ClaimRange is the keys of all claims' rows.
func ClaimRange() (lo, hi []byte) { return []byte{rowClaim}, []byte{rowClaim + 1} }

func claimKey(endToEnd string) []byte {
	k := ledger.EndToEndKey(endToEnd)
	k[0] = rowClaim
	return k
}

const claimRowBytes = 8 + 8

// Project is the rows that a record writes: a pure function of that record alone.
func Project(r *Record) []ledger.Row {
	if r.Kind != EndToEndClaimed {
		return nil
	}
	v := binary.BigEndian.AppendUint64(make([]byte, 0, claimRowBytes), uint64(r.EndToEnd.Account))
	return []ledger.Row{{Key: claimKey(r.EndToEnd.EndToEnd), Value: binary.BigEndian.AppendUint64(v, r.Seq)}}
}

func readClaim(b []byte) (ledger.AccountID, error) {
	if len(b) != claimRowBytes {
		return 0, fmt.Errorf("registry: claim row of %d bytes", len(b))
	}
	return ledger.AccountID(binary.BigEndian.Uint64(b)), nil
}

// claimFilter is the size, in bytes, of the filter over claims: good for 800,000;
// beyond, more looks go to the store.
const claimFilter = 1 << 20

// ClaimEndToEnd gives a merchant's own end-to-end id to an account, and returns
// once that is durable. False: another account has used it.
func (g *Registry) ClaimEndToEnd(a ledger.AccountID, endToEnd string) (bool, error) {
	err := g.change(func(m *Machine, _ ledger.Millis) ([]Record, error) {
		return m.ClaimEndToEnd(EndToEndClaim{EndToEnd: endToEnd, Account: a}, g.endToEndRows)
	})
	if errors.Is(err, ErrEndToEndTaken) {
		return false, nil
	}
	return err == nil, err
}

// endToEndRows reads what the store has on an id: most often nothing at all.
func (g *Registry) endToEndRows(endToEnd string) (found EndToEndRows, err error) {
	if key := claimKey(endToEnd); g.claimed.MayHave(key) {
		b, ok, err := g.journal.Get(key)
		if err != nil {
			return found, err
		}
		if ok {
			found.Claimed, err = readClaim(b)
			return found, err
		}
	}
	for i, key := range ledger.EndToEndKeys(endToEnd) {
		b, ok, err := g.journal.Get(key)
		if err != nil {
			return found, err
		}
		if !ok {
			continue
		}
		row, err := ledger.DecodeEndToEndRow(b)
		if err != nil {
			return found, err
		}
		if i == 0 {
			found.Derived = row.Account
		} else {
			found.Used = row.Account
		}
	}
	return found, nil
}
