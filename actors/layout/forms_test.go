package layout

import (
	"math"
	"slices"
	"testing"

	"pixd/actors/pix"
)

// TestAttemptsKept checks that of more than 50 attempts the first and the newest 49 are kept.
func TestAttemptsKept(t *testing.T) {
	var s DeliveryStatus
	for at := range pix.Millis(53) {
		s.Add(Attempt{At: at})
	}
	if n := len(s.Attempts); n != 50 || s.Attempts[0].At != 0 || s.Attempts[1].At != 4 || s.Attempts[n-1].At != 52 {
		t.Errorf("%d attempts: %+v", n, s.Attempts)
	}
}

// TestDeliveryIDsHaveOneForm checks that the id of a delivery is taken in its own form alone, without a line break in it.
func TestDeliveryIDsHaveOneForm(t *testing.T) {
	id := DeliveryID{Target{7, 1}, 3}.String()
	if _, ok := ParseDeliveryID(id); !ok {
		t.Errorf("%s is refused", id)
	}
	for _, other := range []string{id + "\n", id[:9] + "\r" + id[9:], id[4:], "evt_" + id[4:]} {
		if _, ok := ParseDeliveryID(other); ok {
			t.Errorf("%q is taken", other)
		}
	}
}

// TestDeliveryKeysHaveAState checks that a key with no state of a delivery is an error.
func TestDeliveryKeysHaveAState(t *testing.T) {
	for s := range DeliveryState(6) {
		_, _, _, err := DecodeDeliveryKey(DeliveryKey(Target{7, 1}, s, 3))
		if (err == nil) != (s >= DeliveryPending && s <= DeliveryDead) {
			t.Errorf("state %d: %v", s, err)
		}
	}
}

// TestRefundSumsInExcess checks that nothing of a payment is left and no case may hold anything of it while late settlements
// made the refunds exceed it.
func TestRefundSumsInExcess(t *testing.T) {
	s := RefundSums{Amount: 100, Settled: 120, Excess: 30}
	if err := s.Check(); err != nil || s.Left() != 0 {
		t.Errorf("left %d, %v", s.Left(), err)
	}
	s.Held = 1
	if s.Check() == nil {
		t.Error("a case holds money of a payment that is refunded")
	}
}

// claims are rows of claims on some days.
type claims []uint16

func (claims) Get([]byte) ([]byte, bool, error) { return nil, false, nil }

func (c claims) Scan(lo, hi []byte, visit Visit) error {
	for _, day := range c {
		if k := IdempotencyKey(day, 7, [16]byte{}); string(k) >= string(lo) && string(k) < string(hi) {
			if more, err := visit(k, nil); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// TestLastClaimDays checks that the days with claims are found up to the last one that a key can have.
func TestLastClaimDays(t *testing.T) {
	want := claims{0, 1, 20_000, math.MaxUint16 - 1, math.MaxUint16}
	if got, err := ClaimDays(want); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestAgeOfADoubtedClaim checks that a claim which was made under doubt counts from the start of the process, answered or not.
func TestAgeOfADoubtedClaim(t *testing.T) {
	for _, answered := range []bool{false, true} {
		r := IdempotencyRow{Answered: answered, Doubted: true, At: 5}
		if got := r.Age(pix.Reading{Time: 20, Clock: 20, Start: 10}); got != 10 {
			t.Errorf("answered %v: %d ms old", answered, got)
		}
	}
}
