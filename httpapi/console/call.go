package console

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/httpapi"
	"pixd/httpapi/control"
)

// problem is the operator API's refusal, with documents masked: it may name a PIX key.
type problem struct {
	status  int
	message string
}

func (p *problem) Error() string { return p.message }

// errUnknown says that nobody knows whether a request was carried out.
var errUnknown = errors.New("console: the outcome of a request is unknown")

// list is a page of a list.
type list[T any] struct {
	Data    []T     `json:"data"`
	Next    *string `json:"next_cursor"`
	Damaged int     `json:"damaged"` // entries that are left out
}

func (l *list[T]) damaged() int { return l.Damaged }

// get has the operator API answer a GET of the operator, and reads the answer into a value. A refusal is a *problem.
func (v *visit) get(path string, into any) error { return v.call(fasthttp.MethodGet, path, nil, into) }

// post is get for a request that writes. Its id is the form's key, by which the record names it.
func (v *visit) post(path string, body, into any) error {
	return v.call(fasthttp.MethodPost, path, body, into)
}

func (v *visit) call(method, path string, body, into any) error {
	var inner fasthttp.RequestCtx
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	req.Header.SetHost("console")
	if body != nil {
		req.Header.SetContentType("application/json")
		req.SetBody(control.Encode(body))
	}
	if err := arrived(&req); err != nil {
		return fmt.Errorf("console: %s %s: %w", method, path, err)
	}
	inner.Init(&req, v.ctx.RemoteAddr(), nil)
	httpapi.SetRequestID(&inner, httpapi.RequestID(v.ctx))
	if v.key != "" {
		httpapi.SetRequestID(&inner, v.key)
	}
	control.As(&inner, v.Who)
	v.API(&inner)
	err := read(&inner, method, path, into)
	if l, is := into.(interface{ damaged() int }); is && err == nil {
		v.Damaged += l.damaged()
	}
	return err
}

// arrived makes a request one that was read from a connection: some paths are about another node of a cluster, which is
// sent the request's lines as they came.
func arrived(req *fasthttp.Request) error {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := errors.Join(req.Write(w), w.Flush()); err != nil {
		return err
	}
	return req.Read(bufio.NewReader(&b))
}

// read reads an answer of the API into a value; a nil value: the answer's body does not matter.
func read(inner *fasthttp.RequestCtx, method, path string, into any) error {
	if inner.Hijacked() {
		return errUnknown
	}
	status, answer := inner.Response.StatusCode(), inner.Response.Body()
	if status >= fasthttp.StatusMultipleChoices {
		var refused struct{ Error struct{ Message string } }
		if err := json.Unmarshal(answer, &refused); err != nil {
			return fmt.Errorf("console: %s %s: status %d: %w", method, path, status, err)
		}
		return &problem{status, withoutDocuments(refused.Error.Message)}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("console: %s %s: %w", method, path, err)
	}
	return nil
}
