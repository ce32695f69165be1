package ledger

// ValidCPF tells whether eleven digits are a CPF: the last two are check digits,
// each modulo 11 over the digits before it (Receita Federal). Eleven times the
// same digit satisfies the sum and is never issued.
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

// checkDigit weighs the last digit with 2, the one before it with 3, and so on.
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
