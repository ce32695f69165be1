package main

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"pixd/docs/openapi"
	"pixd/docs/openapi/openapitest"
)

// described are the documents against which requests of a running engine are held.
type described struct{ merchant, operator *openapitest.Contract }

var contracts = sync.OnceValue(func() described {
	var d described
	for into, of := range map[**openapitest.Contract]openapi.Document{&d.merchant: openapi.Merchant, &d.operator: openapi.Operator} {
		c, err := openapitest.New(of.YAML)
		if err != nil {
			panic(err)
		}
		*into = c
	}
	return d
})

// hold checks a request and its answer, whose body was read, against a document.
func hold(t *testing.T, c *openapitest.Contract, r *http.Request, answer *http.Response, body []byte) {
	t.Helper()
	if err := held(c, r, answer, body); err != nil {
		t.Error(err)
	}
}

// held is hold for callers that have no test.
func held(c *openapitest.Contract, r *http.Request, answer *http.Response, body []byte) error {
	e := openapitest.Exchange{Method: r.Method, URL: r.URL.RequestURI(), RequestHeader: r.Header, Status: answer.StatusCode, Header: answer.Header, Answer: body}
	if r.GetBody != nil {
		sent, err := r.GetBody()
		if err == nil {
			e.Request, err = io.ReadAll(sent)
		}
		if err != nil {
			return err
		}
	}
	return c.Check(e)
}
