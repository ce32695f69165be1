package pix

import (
	"fmt"
	"math"
	"strings"
)

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

// BRL returns the amount in BRL with two decimals, or with four if it has parts of a centavo.
// comma stands between every three digits of the whole reais, and point before the decimals.
func (a Amount) BRL(comma, point string) string {
	const units = 100 * UnitsPerCentavo // in 1.00 BRL
	sign, n := "", uint64(a)
	if a < 0 {
		sign, n = "-", -n
	}
	whole := fmt.Sprint(n / units)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + comma + whole[i:]
	}
	return sign + whole + point + strings.TrimSuffix(fmt.Sprintf("%04d", n%units), "00")
}
