package openapitest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const document = `
openapi: 3.1.0
info: {title: t, version: '1'}
servers: [{url: 'http://h/base'}]
paths:
  /things/{id}:
    post:
      parameters: [{name: id, in: path, required: true, schema: {type: string}}, {name: of_user, in: query, schema: {type: string}}]
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [user_name], properties: {user_name: {type: string}, note: {type: string}}}}}}
      responses:
        '200':
          description: d
          headers: {x-left: {schema: {type: integer}}, X-Idempotent-Replay: {schema: {type: string}}, X-Request-Id: {schema: {type: string}}}
          content:
            application/json:
              schema:
                oneOf:
                  - {$ref: '#/components/schemas/One'}
                  - {type: object, additionalProperties: false, required: [kind], properties: {kind: {const: two}, deep: {type: array, items: {type: object, properties: {leaf: {type: [integer, 'null']}}}}}}
        '404': {description: d}
        default: {description: d}
webhooks:
  it.happened:
    post:
      requestBody: {required: true, content: {application/json: {schema: {type: object, additionalProperties: false, properties: {user_id: {type: string}}}}}}
      responses: {'200': {description: d}}
components:
  schemas:
    One: {type: object, additionalProperties: false, required: [kind], properties: {kind: {const: one}, user_name: {type: string}}}
`

func exchange(status int, request, answer string) Exchange {
	h := http.Header{"Content-Type": {"application/json"}}
	return Exchange{Method: "POST", URL: "/base/things/7", RequestHeader: h.Clone(), Request: []byte(request), Status: status, Header: h, Answer: []byte(answer)}
}

// TestContract checks what passes, and each way in which an exchange or an event can differ.
func TestContract(t *testing.T) {
	c, err := New([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := func(e Exchange, method, url string) Exchange {
		e.Method, e.URL = method, url
		return e
	}
	camel := exchange(200, `{"userName":"u"}`, `{"kind":"one","userName":"u"}`)
	camel.RequestHeader.Set("X-Key-Case", "camelCase")
	half := camel
	half.Answer = []byte(`{"kind":"one","user_name":"u"}`)
	replayed := half
	replayed.Header = http.Header{"Content-Type": {"application/json"}, "X-Idempotent-Replay": {"true"}}
	headed := exchange(200, `{"user_name":"u"}`, `{"kind":"one"}`)
	headed.Header = headed.Header.Clone()
	headed.Header["X-LEFT"] = []string{"7"} // as some servers spell it
	other := exchange(404, `{}`, ``)
	other.Header = headed.Header
	for name, v := range map[string]struct {
		e    Exchange
		want string // in the error; empty: there is none
	}{
		"good":                   {exchange(200, `{"user_name":"u"}`, `{"kind":"one","user_name":"u"}`), ""},
		"camelCase":              {camel, ""},
		"the other choice":       {exchange(200, `{"user_name":"u"}`, `{"kind":"two"}`), ""},
		"a bad request, refused": {exchange(404, `{}`, ``), ""},
		"unreadable":             {exchange(431, `{}`, ``), ""},
		"a query":                {elsewhere(exchange(200, `{"user_name":"u"}`, `{"kind":"one"}`), "POST", "/base/things/7?of_user=u"), ""},
		"a query in camelCase":   {elsewhere(camel, "POST", "/base/things/7?ofUser=u"), ""},
		"a header":               {headed, ""},
		"what is ignored":        {elsewhere(exchange(200, `{"user_name":"u"}`, `{"kind":"one"}`), "POST", "/base/things/7?more=1&unknown=2"), ""},
		"another query":          {elsewhere(exchange(200, `{"user_name":"u"}`, `{"kind":"one"}`), "POST", "/base/things/7?more=1"), "the query parameter more"},
		"another header":         {other, "the header X-Left"},
		"a replay's own case":    {replayed, ""},
		"a key in snake_case":    {half, "has the key user_name"},
		"no path":                {elsewhere(exchange(404, ``, ``), "GET", "/base/others"), ""},
		"no method":              {elsewhere(exchange(405, ``, ``), "GET", "/base/things/7"), ""},
		"another field":          {exchange(200, `{"user_name":"u"}`, `{"kind":"one","more":1}`), "the answer"},
		"a field is missing":     {exchange(200, `{"user_name":"u"}`, `{"user_name":"u"}`), "the answer"},
		"another type":           {exchange(200, `{"user_name":"u"}`, `{"kind":"one","user_name":7}`), "the answer"},
		"a bad request, done":    {exchange(200, `{}`, `{"kind":"one"}`), "the request"},
		"no such status":         {exchange(409, `{"user_name":"u"}`, `{}`), "no status 409"},
		"an unknown path":        {elsewhere(exchange(200, `{}`, `{}`), "POST", "/base/others"), "not in the document"},
		"outside the base":       {elsewhere(exchange(200, `{}`, `{}`), "POST", "/things/7"), "not in the document"},
		"no identifier":          {elsewhere(exchange(200, `{}`, `{}`), "POST", "/base/things/"), "not in the document"},
	} {
		err := c.Check(v.e)
		if (err == nil) != (v.want == "") || err != nil && !strings.Contains(err.Error(), v.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for body, good := range map[string]bool{`{"user_id":"u"}`: true, `{"user_id":7}`: false, `{"other":1}`: false} {
		if err := c.CheckEvent("it.happened", []byte(body)); (err == nil) != good {
			t.Errorf("event %s: %v", body, err)
		}
	}
	if c.CheckEvent("it.did.not", []byte(`{}`)) == nil {
		t.Error("an unknown event passes")
	}
}

// TestUnseen checks that what no exchange has shown is named, a null that may be something else too.
func TestUnseen(t *testing.T) {
	c, err := New([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	unseen := []string{
		"#/components/schemas/One.kind", "#/components/schemas/One.user_name", "POST /event:it.happened", "POST /event:it.happened.user_id",
		"POST /things/{id}", "POST /things/{id} 200", "POST /things/{id} 200 header X-Idempotent-Replay", "POST /things/{id} 200 header X-Left", "POST /things/{id} 200/oneOf/1.deep", "POST /things/{id} 200/oneOf/1.deep[].leaf", "POST /things/{id} 200/oneOf/1.kind",
		"POST /things/{id} 404", "POST /things/{id} ?of_user", "POST /things/{id}.note", "POST /things/{id}.user_name",
	}
	if got := c.Unseen(); !slices.Equal(got, unseen) {
		t.Fatalf("got %q", got)
	}
	for _, e := range []Exchange{
		exchange(200, `{"user_name":"u"}`, `{"kind":"two","deep":[{"leaf":null}]}`),
		exchange(200, `{"user_name":"u"}`, `{"kind":"one"}`),
		exchange(404, `{"note":"not carried out"}`, ``),
	} {
		if err := c.Check(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CheckEvent("it.happened", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	left := []string{
		"#/components/schemas/One.user_name", "POST /event:it.happened.user_id", "POST /things/{id} 200 header X-Idempotent-Replay", "POST /things/{id} 200 header X-Left", "POST /things/{id} 200/oneOf/1.deep[].leaf",
		"POST /things/{id} ?of_user", "POST /things/{id}.note",
	}
	if got := c.Unseen(); !slices.Equal(got, left) {
		t.Errorf("got %q", got)
	}
	asked := exchange(200, `{"user_name":"u"}`, `{"kind":"two"}`)
	asked.URL += "?of_user=u"
	asked.Header = http.Header{"Content-Type": {"application/json"}, "X-Left": {"7"}}
	if err := c.Check(asked); err != nil {
		t.Fatal(err)
	}
	if got := c.Unseen(); slices.Contains(got, "POST /things/{id} ?of_user") || slices.Contains(got, "POST /things/{id} 200 header X-Left") {
		t.Errorf("got %q", got)
	}
	if got := c.Operations(); !slices.Equal(got, []string{"POST /things/{id}"}) {
		t.Errorf("operations %q", got)
	}
}
