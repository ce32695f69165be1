package openapitest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// holdNames checks the names of a request's query parameters, if it was carried out, and of its answer's headers, and
// notes which the exchange has shown.
func (c *Contract) holdNames(place string, operation map[string]any, answer any, e Exchange) error {
	at, err := url.Parse(e.URL)
	if err != nil {
		return fmt.Errorf("openapitest: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.parameters(operation); carriedOut(e) {
		ignored := at.Query().Has("unknown") // a test of what is ignored
		for name := range at.Query() {
			if !slices.Contains(known, name) && !ignored {
				return fmt.Errorf("openapitest: %s: the query parameter %s is not in the document", place, name)
			}
			c.seen[place+" ?"+name] = true
		}
	}
	known := c.headers(place, e.Status, answer)
	for name := range e.Header {
		name = http.CanonicalHeaderKey(name)
		if key := known[name]; key != "" {
			c.seen[key] = true
		} else if !slices.Contains(everywhere, name) {
			return fmt.Errorf("openapitest: %s: the answer %d has the header %s, which is not in the document", place, e.Status, name)
		}
	}
	return nil
}

// everywhere are the headers of answers that HTTP itself has, and no document need name.
var everywhere = []string{"Content-Type", "Content-Length", "Date", "Server", "Connection", "Transfer-Encoding", "Trailer", "Vary"}

// parameters returns the names of an operation's query parameters.
func (c *Contract) parameters(operation map[string]any) (names []string) {
	for _, of := range list(operation["parameters"]) {
		if _, p := c.resolve("", of); p["in"] == "query" {
			names = append(names, text(p["name"]))
		}
	}
	return names
}

// headers returns the places of an answer's headers by their names.
func (c *Contract) headers(place string, status, answer any) map[string]string {
	key, is := c.resolve(fmt.Sprint(place, " ", status), answer)
	all, _ := is["headers"].(map[string]any)
	places := map[string]string{}
	for name, of := range all {
		name = http.CanonicalHeaderKey(name)
		places[name], _ = c.resolve(key+" header "+name, of)
	}
	return places
}

// everyName adds an operation's query parameters, and the headers of its answers.
func (c *Contract) everyName(place string, of map[string]any, all map[string]bool) {
	for _, name := range c.parameters(of) {
		all[place+" ?"+name] = true
	}
	answers, _ := of["responses"].(map[string]any)
	for status, answer := range answers {
		if status == "default" || strings.HasPrefix(place, "POST "+eventPaths) {
			continue
		}
		for name, key := range c.headers(place, status, answer) {
			if name != "X-Request-Id" { // the server sets it around the handlers that tests call
				all[key] = true
			}
		}
	}
}
