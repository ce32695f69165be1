// Package openapitest holds requests and answers of tests against an OpenAPI document, and tells what
// of the document no test has seen.
package openapitest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-json"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	failures "github.com/pb33f/libopenapi-validator/errors"
	"sigs.k8s.io/yaml"
)

// Contract is an OpenAPI document. Several goroutines may use it.
type Contract struct {
	base      string // the path that all paths begin with
	root      map[string]any
	validator validator.Validator

	mu   sync.Mutex
	seen map[string]bool // what tests have seen, by its place in the document
}

// Exchange is a request and its answer.
type Exchange struct {
	Method, URL   string
	RequestHeader http.Header
	Request       []byte
	Status        int
	Header        http.Header
	Answer        []byte
}

// eventPaths is the path below which Events are validated: one for each webhook of the document.
const eventPaths = "/event:"

// New reads a document.
func New(document []byte) (*Contract, error) {
	c := &Contract{seen: map[string]bool{}}
	if err := yaml.Unmarshal(document, &c.root); err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	if servers, ok := c.root["servers"].([]any); ok && len(servers) > 0 {
		at, err := url.Parse(text(servers[0].(map[string]any)["url"]))
		if err != nil {
			return nil, fmt.Errorf("openapitest: %w", err)
		}
		c.base = at.Path
	}
	paths := c.object("paths")
	for kind, of := range c.object("webhooks") {
		paths[eventPaths+kind] = of
	}
	merged, err := json.Marshal(c.root)
	if err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	read, err := libopenapi.NewDocument(merged)
	if err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	made, errs := validator.NewValidator(read, config.WithFormatAssertions(), config.WithoutSecurityValidation())
	if errs != nil {
		return nil, fmt.Errorf("openapitest: %w", errors.Join(errs...))
	}
	c.validator = made
	return c, nil
}

func (c *Contract) object(name string) map[string]any {
	of, _ := c.root[name].(map[string]any)
	return of
}

func text(v any) string { s, _ := v.(string); return s }

// Check returns an error where the document says something else of an exchange: it lacks the path, the
// method or the status, the answer has another shape, or a request that was carried out is not one.
func (c *Contract) Check(e Exchange) error {
	at, err := url.Parse(e.URL)
	if err != nil {
		return nil // no path of any document
	}
	below, ours := strings.CutPrefix(at.EscapedPath(), c.base+"/")
	path, of := c.path("/"+below, e.Method)
	if of == nil || !ours {
		if slices.Contains(nowhere, e.Status) {
			return nil
		}
		return fmt.Errorf("openapitest: %s %s: answered %d, and not in the document", e.Method, e.URL, e.Status)
	}
	if e.RequestHeader.Get("X-Key-Case") == "camelCase" {
		replayed := e.Header.Get("X-Idempotent-Replay") != "" || e.Header.Get("X-Idempotent-Body-Mismatch") != "" // in the first request's case
		if name := snakeKey(e.Answer); name != "" && !replayed {
			return fmt.Errorf("openapitest: %s %s: the answer in camelCase has the key %s: %s", e.Method, e.URL, name, e.Answer)
		}
		if e, err = snakeOf(e); err != nil {
			return err
		}
	}
	declared, _ := of["responses"].(map[string]any)
	status := strconv.Itoa(e.Status)
	if declared[status] == nil {
		if !slices.Contains(unreadable, e.Status) || declared["default"] == nil {
			return fmt.Errorf("openapitest: %s %s: the document has no status %d: %s", e.Method, path, e.Status, e.Answer)
		}
		status = "default"
	}
	if err := c.hold(e); err != nil {
		return err
	}
	place := e.Method + " " + path
	if err := c.holdNames(place, of, declared[status], e); err != nil {
		return err
	}
	c.note(place+" "+status, declared[status], e.Answer)
	if carriedOut(e) && of["requestBody"] != nil {
		c.note(place, of["requestBody"], e.Request)
	}
	return nil
}

// nowhere are the statuses of an address that no document has.
var nowhere = []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests}

// unreadable are the statuses that a document need not have for each path.
var unreadable = []int{http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge, http.StatusHTTPVersionNotSupported}

// hold validates an exchange; the request only if it was carried out.
func (c *Contract) hold(e Exchange) error {
	r, err := e.request()
	if err != nil {
		return err
	}
	answer := &http.Response{StatusCode: e.Status, Header: e.Header.Clone(), Body: io.NopCloser(bytes.NewReader(e.Answer)), Request: r}
	if ok, wrong := c.validator.ValidateHttpResponse(r, answer); !ok {
		return e.wrong("the answer", wrong)
	}
	if !carriedOut(e) {
		return nil
	}
	if r, err = e.request(); err != nil {
		return err
	}
	if ok, wrong := c.validator.ValidateHttpRequest(r); !ok {
		return e.wrong("the request", wrong)
	}
	return nil
}

// carriedOut reports whether the answer is that of this very request.
func carriedOut(e Exchange) bool {
	return e.Status/100 == 2 && e.Header.Get("X-Idempotent-Body-Mismatch") == ""
}

func (e Exchange) request() (*http.Request, error) {
	r, err := http.NewRequest(e.Method, e.URL, bytes.NewReader(e.Request))
	if err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	r.Header = e.RequestHeader.Clone()
	return r, nil
}

func (e Exchange) wrong(what string, all []*failures.ValidationError) error {
	var b strings.Builder
	fmt.Fprintf(&b, "openapitest: %s %s: %s is not what the document says:", e.Method, e.URL, what)
	for _, f := range all {
		fmt.Fprintf(&b, "\n\t%s: %s", f.Message, f.Reason)
		for _, s := range f.SchemaValidationErrors {
			fmt.Fprintf(&b, "\n\t\t%s: %s", s.KeywordLocation, s.Reason)
		}
	}
	fmt.Fprintf(&b, "\n\trequest %s\n\tanswer %d %s", e.Request, e.Status, e.Answer)
	return errors.New(b.String())
}

// CheckEvent returns an error where the document has no event of a kind, or says something else of it.
func (c *Contract) CheckEvent(kind string, body []byte) error {
	e := Exchange{
		Method: http.MethodPost, URL: c.base + eventPaths + kind, Request: body, Status: http.StatusOK,
		RequestHeader: http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {"evt_a"}, "Webhook-Timestamp": {"1"}, "Webhook-Signature": {"v1,a"}},
	}
	_, of := c.path(eventPaths+kind, e.Method)
	if of == nil {
		return fmt.Errorf("openapitest: no event %s in the document", kind)
	}
	r, err := e.request()
	if err != nil {
		return err
	}
	if ok, wrong := c.validator.ValidateHttpRequest(r); !ok {
		return e.wrong("the event", wrong)
	}
	c.note(e.Method+" "+eventPaths+kind, of["requestBody"], body)
	return nil
}

// path returns the path of the document that an address is of, and the operation of a method. A path
// without parameters comes before one that has some.
func (c *Contract) path(of, method string) (path string, operation map[string]any) {
	parts := strings.Split(of, "/")
	best := -1
	for candidate, item := range c.object("paths") {
		names := strings.Split(candidate, "/")
		if len(names) != len(parts) {
			continue
		}
		same := 0
		for i, name := range names {
			switch {
			case name == parts[i]:
				same++
			case !strings.HasPrefix(name, "{") || parts[i] == "":
				same = -len(names) * 2
			}
		}
		if same > best {
			best, path = same, candidate
			operation, _ = item.(map[string]any)[strings.ToLower(method)].(map[string]any)
		}
	}
	return path, operation
}
