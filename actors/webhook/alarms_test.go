package webhook

import (
	"testing"

	"pixd/actors/ledger"
)

// TestAlarms checks that a subscription with something due later keeps one alarm, however often
// it is woken meanwhile.
func TestAlarms(t *testing.T) {
	m, target := New(nil, DefaultBounds()), ledger.Target{Account: 1, Number: 1}
	for range 1000 {
		m.sleep(m.queue(target), 5)
	}
	m.sleep(m.queue(target), 3)
	m.sleep(m.queue(target), 4)
	if _, waiting, _ := m.Counts(); waiting != 1 || len(m.waiting) != 2 || m.waiting[0].at != 3 {
		t.Errorf("%d subscriptions wait, with the alarms %v", waiting, m.waiting)
	}
}
