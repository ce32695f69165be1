package bench

import (
	"fmt"
	"strings"

	"pixd/httpapi"
)

// Credentials are a merchant's API key.
type Credentials struct{ ClientID, Secret string }

// Post returns the bytes of a signed POST request to the merchant API.
func (c Credentials) Post(path, body string) []byte {
	signature, err := httpapi.Sign([]byte(c.Secret), []byte(body), false)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "POST /api/external%s HTTP/1.1\r\nHost: pixd\r\nAuthorization: ApiKey %s:%s\r\n", path, c.ClientID, c.Secret)
	fmt.Fprintf(&b, "Content-Type: application/json\r\nhmac: %s\r\nContent-Length: %d\r\n\r\n%s", signature, len(body), body)
	return []byte(b.String())
}

// Get returns the bytes of a GET request to the merchant API.
func (c Credentials) Get(path string) []byte {
	return fmt.Appendf(nil, "GET /api/external%s HTTP/1.1\r\nHost: pixd\r\nAuthorization: ApiKey %s:%s\r\n\r\n", path, c.ClientID, c.Secret)
}
