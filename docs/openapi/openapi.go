// Package openapi has the OpenAPI documents of pixd's HTTP interfaces.
package openapi

import (
	_ "embed" // the documents
	"fmt"

	"sigs.k8s.io/yaml"
)

// Document describes an HTTP interface in OpenAPI 3.1.
type Document struct {
	Name  string // in paths: a-z
	Title string
	YAML  []byte
}

//go:embed merchant.yaml
var merchant []byte

// Merchant describes the merchant API, and its events as webhooks.
var Merchant = Document{"merchant", "Merchant API", merchant}

//go:embed operator.yaml
var operator []byte

// Operator describes the operator API.
var Operator = Document{"operator", "Operator API", operator}

//go:embed simulator.yaml
var simulator []byte

// Simulator describes the paths below /sim.
var Simulator = Document{"simulator", "Simulator", simulator}

//go:embed scheme.yaml
var scheme []byte

// Scheme describes the protocol between an engine and a scheme in another process.
var Scheme = Document{"scheme", "Scheme protocol", scheme}

// JSON returns the document as JSON.
func (d Document) JSON() ([]byte, error) {
	b, err := yaml.YAMLToJSON(d.YAML)
	if err != nil {
		return nil, fmt.Errorf("openapi: %s: %w", d.Name, err)
	}
	return b, nil
}
