package openapitest

import (
	"net/http"

	"github.com/valyala/fasthttp"
)

// Of returns an exchange of fasthttp. url is that of the request as it was sent.
func Of(url string, request *fasthttp.Request, answer *fasthttp.Response) Exchange {
	e := Exchange{
		Method: string(request.Header.Method()), URL: url, Request: request.Body(), RequestHeader: http.Header{},
		Status: answer.StatusCode(), Header: http.Header{}, Answer: answer.Body(),
	}
	for k, v := range request.Header.All() {
		e.RequestHeader.Add(string(k), string(v))
	}
	for k, v := range answer.Header.All() {
		e.Header.Add(string(k), string(v))
	}
	return e
}
