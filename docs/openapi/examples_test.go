package openapi

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestExamples checks that every body of the documents has an example: of requests, of answers with any status, and
// of events. That each fits its schema is the linter's (`make lint-openapi`).
func TestExamples(t *testing.T) {
	for _, d := range []Document{Merchant, Operator, Simulator, Scheme} {
		var root map[string]any
		if err := yaml.Unmarshal(d.YAML, &root); err != nil {
			t.Fatal(err)
		}
		bodies := 0
		eachBody(root, root, d.Name, func(at, kind string, body map[string]any) {
			bodies++
			if kind != "application/pdf" && body["example"] == nil && body["examples"] == nil {
				t.Errorf("%s %s: no example", at, kind)
			}
		})
		if bodies < 50 {
			t.Errorf("%s has %d bodies", d.Name, bodies)
		}
	}
}

// TestBodiesHaveNames checks that each body of the merchant API, but an empty one, is a schema with a name: generators
// of clients, as of examples/go, make a type of it.
func TestBodiesHaveNames(t *testing.T) {
	var root map[string]any
	if err := yaml.Unmarshal(Merchant.YAML, &root); err != nil {
		t.Fatal(err)
	}
	eachBody(root, root, "merchant", func(at, kind string, body map[string]any) {
		schema := body["schema"].(map[string]any)
		if kind == "application/json" && schema["$ref"] == nil && schema["oneOf"] == nil && len(schema) > 1 {
			t.Errorf("%s: a schema without a name", at)
		}
	})
}

// eachBody calls do for every body below a part of a document: where it is, its media type, and what is said of it.
func eachBody(root map[string]any, part any, at string, do func(at, kind string, body map[string]any)) {
	is, _ := part.(map[string]any)
	if ref, _ := is["$ref"].(string); strings.Contains(ref, "/responses/") {
		responses := root["components"].(map[string]any)["responses"].(map[string]any)
		is, _ = responses[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
	}
	for name, of := range is {
		switch name {
		case "content":
			for kind, body := range of.(map[string]any) {
				do(at, kind, body.(map[string]any))
			}
		case "components":
		default:
			eachBody(root, of, at+" "+name, do)
		}
	}
}
