package engine

import (
	"strings"

	"pixd/cmd/serving"
)

// adminToken returns the operators' bearer token: the configured one, or the one in the
// data folder, which the first start makes.
func adminToken(c *Config) (string, error) {
	if token := strings.TrimSpace(c.AdminToken); token != "" || c.FS != nil {
		return token, nil
	}
	return serving.TokenIn(c.DataDir)
}
