package ledger

// ValidCPF tells whether s is a valid CPF of eleven digits: the last two are check digits,
// each modulo 11 over the digits before it (Receita Federal). Eleven equal digits pass that
// check but are never issued.
func ValidCPF(s string) bool {
	if !digits(s, 11) {
		return false
	}
	same := true
	for i := range s {
		same = same && s[i] == s[0]
	}
	return !same && s[9] == checkDigit(s[:9]) && s[10] == checkDigit(s[:10])
}

// checkDigit computes a check digit: the last digit has weight 2, the one before it 3, and
// so on.
func checkDigit(s string) byte {
	sum := 0
	for i := range s {
		sum += int(s[i]-'0') * (len(s) + 1 - i)
	}
	if d := 11 - sum%11; d < 10 {
		return byte('0' + d)
	}
	return '0'
}
