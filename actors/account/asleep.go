package account

import (
	"fmt"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Look reads the store and returns once everything that it has read of the stream is durable;
// see wal.Store.Look.
type Look func(stream wal.Stream, read func(*wal.View) error) error

// readAsleep answers ReadAccount for an account that is not in memory, without restoring it:
// from the head row and the records after it. False where the account's actor must answer: the
// account is in memory or is read often, was never opened, or cannot be read.
func (d *Host) readAsleep(id pix.AccountID, e *entry) (ledger.Answer, bool) {
	if d.look == nil || !d.sleepsOn(e) {
		return ledger.Answer{}, false
	}
	var head ledger.Account
	err := d.look(wal.Stream(id), func(v *wal.View) (err error) {
		head, err = headOf(id, v)
		return err
	})
	if err != nil || head.Seq == 0 {
		return ledger.Answer{}, false
	}
	return ledger.Answer{Head: &head}, true
}

// sleepsOn tells whether an account that is read stays out of memory: it is not in memory, and
// was neither used nor read for Limits.IdleAfter. So an account that is read again and again
// comes into memory at the second read, whatever the number of records after its head row, and
// one that is read rarely takes no memory but its entry.
func (d *Host) sleepsOn(e *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pid != nil {
		return false
	}
	before, now := e.used, d.deps.Now().Clock
	e.used = now
	return before == 0 || now-before >= pix.Millis(d.limits.IdleAfter/time.Millisecond)
}

// headOf reads an account's head as it is in a view.
func headOf(id pix.AccountID, v *wal.View) (ledger.Account, error) {
	head, _, _, err := replay(id, v)
	if err != nil {
		return head, err
	}
	newest, err := v.Last(wal.Stream(id))
	if err == nil && newest != head.Seq {
		err = fmt.Errorf("account %v: the head stands at record %d, the journal ends at %d", id, head.Seq, newest)
	}
	return head, err
}
