package brcode_test

import (
	"fmt"

	"pixd/actors/scheme/brcode"
)

// A charge's text is made, and read as a payer's reader does.
func Example() {
	text, err := brcode.Static{Key: "d20462b1-7ce0-45e3-a76c-046d83bec5f4", Name: "Padaria São João", City: "Recife", AmountCentavos: 2500, TxID: "order1"}.Text()
	fmt.Println(text, err)
	code, err := brcode.Parse(text)
	fmt.Println(code.Key, code.Name, code.AmountCentavos, code.TxID, err)
	_, err = brcode.Parse(text[:len(text)-1] + "0")
	fmt.Println("a digit off:", err != nil)
	// Output:
	// 00020126580014br.gov.bcb.pix0136d20462b1-7ce0-45e3-a76c-046d83bec5f4520400005303986540525.005802BR5916Padaria Sao Joao6006Recife62100506order163044DE1 <nil>
	// d20462b1-7ce0-45e3-a76c-046d83bec5f4 Padaria Sao Joao 2500 order1 <nil>
	// a digit off: true
}
