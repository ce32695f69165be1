package ledger

import "math"

// Amount is money in base units: 1.00 BRL = 10 000. Merchants send centavos
// (1.00 BRL = 100); FromCentavos converts them.
type Amount int64

// UnitsPerCentavo is the number of base units in one centavo.
const UnitsPerCentavo = 100

// MaxCentavos is the largest amount of one request, in centavos: the largest number that
// fits into the amount field of a BR Code (ten digits, a point, two digits).
const MaxCentavos = 999_999_999_999

// MaxAmount is MaxCentavos in base units.
const MaxAmount = Amount(MaxCentavos * UnitsPerCentavo)

// FromCentavos converts centavos, 1 to MaxCentavos, to base units.
// The second result is false outside that range.
func FromCentavos(c int64) (Amount, bool) {
	if c < 1 || c > MaxCentavos {
		return 0, false
	}
	return Amount(c * UnitsPerCentavo), true
}

// Add returns a + b; false where the sum overflows.
func (a Amount) Add(b Amount) (Amount, bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}

// Fee is the price of one movement of money: a fixed part and a share of the amount.
type Fee struct {
	Fixed Amount `cbor:"1,keyasint,omitempty" json:"fixed"` // base units, 0 to MaxAmount
	BPS   int64  `cbor:"2,keyasint,omitempty" json:"bps"`   // basis points, 0 to 10 000
}

// maxBPS is 100 % in basis points.
const maxBPS = 10_000

// Of returns the fee on amount (0 to MaxAmount), rounded half up to a base unit.
func (f Fee) Of(amount Amount) Amount {
	// The product is at most 1e14 * 1e4 + 5e3, which fits into an int64.
	return f.Fixed + (amount*Amount(f.BPS)+maxBPS/2)/maxBPS
}

// valid tells whether the fee can be charged on any amount without overflow.
func (f Fee) valid() bool {
	return f.Fixed >= 0 && f.Fixed <= MaxAmount && f.BPS >= 0 && f.BPS <= maxBPS
}
