package pix

import "math"

// Amount is money in base units: 1.00 BRL = 10 000. Merchants send centavos
// (1.00 BRL = 100); FromCentavos converts them.
type Amount int64

// Add returns a + b; false where the sum overflows.
func (a Amount) Add(b Amount) (Amount, bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}

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
