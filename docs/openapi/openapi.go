// Package openapi has the OpenAPI documents of pixd's HTTP interfaces.
package openapi

import _ "embed" // the documents

// Merchant describes the merchant API, and its events as webhooks; OpenAPI 3.1 as YAML.
//
//go:embed merchant.yaml
var Merchant []byte
