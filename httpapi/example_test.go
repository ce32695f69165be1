package httpapi_test

import (
	"fmt"

	"pixd/httpapi"
)

// A request is signed over its body's canonical form: keys in order, no white space. However the body
// is laid out, the signature is the same.
func ExampleSign() {
	body := []byte(`{ "description": "café", "amount": 2500 }`)
	form, err := httpapi.Canonical(body)
	fmt.Println(string(form), err)
	header, err := httpapi.Sign([]byte("sk_example"), body, false)
	fmt.Println(header[:32], err)
	same, err := httpapi.Sign([]byte("sk_example"), form, false)
	fmt.Println(same == header, err)
	// Output:
	// {"amount":2500,"description":"café"} <nil>
	// 74958f6307f8e74150571b56c7d097d9 <nil>
	// true <nil>
}
