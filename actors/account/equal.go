package account

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// equals keeps what a machine has read about payouts that share their end-to-end id with many
// others, so that one more of them, a refusal and an outcome do not each read them all.
type equals struct {
	states  map[pix.TxID]*ledger.Transaction
	crowded map[string]pix.Millis // by the key of an end-to-end row: until when no payout is added to it
}

// mostEquals is how many states and rows are kept. All are forgotten beyond it.
const mostEquals = 4096

// Equal implements ledger.Reader.
func (r *reader) Equal(id pix.TxID, read func() (*ledger.Transaction, error)) (*ledger.Transaction, error) {
	e := &r.machine.equals
	if t := e.states[id]; t != nil {
		return t, nil
	}
	t, err := read()
	if err != nil {
		return nil, err
	}
	if e.states == nil || len(e.states) >= mostEquals {
		e.states = map[pix.TxID]*ledger.Transaction{}
	}
	e.states[id] = t
	return t, nil
}

// Crowded implements ledger.Reader.
func (r *reader) Crowded(key []byte, now pix.Millis) bool {
	return now < r.machine.equals.crowded[string(key)]
}

// Crowd implements ledger.Reader.
func (r *reader) Crowd(key []byte, until pix.Millis) {
	e := &r.machine.equals
	if e.crowded == nil || len(e.crowded) >= mostEquals {
		e.crowded = map[string]pix.Millis{}
	}
	e.crowded[string(key)] = until
}

// follow takes the new state of a transaction.
func (e *equals) follow(t *ledger.Transaction) {
	if t == nil {
		return
	}
	if e.states[t.ID] != nil {
		e.states[t.ID] = t
	}
	if len(e.crowded) > 0 && t.Kind == pix.TxPayout && t.Ended() {
		delete(e.crowded, string(ledger.EndToEndKeyOf(t)))
	}
}
