// Package reference serves the OpenAPI documents of the HTTP interfaces: as pages for a browser, as
// YAML and as JSON. Nothing on the pages comes from elsewhere.
package reference

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io"
	"mime"
	"path"
	"strings"
	"sync"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/docs/openapi"
)

//go:embed page.html page.css page.js swagger-ui/*.gz
var files embed.FS

var page = template.Must(template.ParseFS(files, "page.html"))

// policy lets a page load what this server has, and nothing else. The viewer draws with style
// attributes and with pictures in data URIs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// OfOperators are the documents that the operator listener shows.
var OfOperators = []openapi.Document{openapi.Operator, openapi.Merchant, openapi.Simulator, openapi.Scheme}

// Routes adds the pages of the documents below /docs: that of the first document at /docs itself. They
// need no token. What they show is made when it is asked for the first time: a start, and so a node that takes
// over, does not wait for it. It panics where a document cannot be read, which a test finds.
func Routes(r *router.Router, documents ...openapi.Document) {
	for _, d := range documents {
		html := serve("text/html; charset=utf-8", func() []byte { return draw(d, documents) })
		r.GET("/docs/"+d.Name, html)
		r.GET("/docs/"+d.Name+".yaml", serve("application/yaml", func() []byte { return d.YAML }))
		r.GET("/docs/"+d.Name+".json", serve("application/json", func() []byte { return inJSON(d) }))
		if d.Name == documents[0].Name {
			r.GET("/docs", html)
		}
	}
	for _, name := range []string{"page.css", "page.js"} {
		r.GET("/docs/"+name, serve(kind(name), func() []byte { return read(name) }))
	}
	for _, name := range []string{"swagger-ui-bundle.js", "swagger-ui.css"} {
		r.GET("/docs/"+name, packed(kind(name), read("swagger-ui/"+name+".gz")))
	}
}

func inJSON(d openapi.Document) []byte {
	b, err := d.JSON()
	if err != nil {
		panic(err)
	}
	return b
}

func draw(d openapi.Document, all []openapi.Document) []byte {
	var b bytes.Buffer
	if err := page.Execute(&b, struct {
		openapi.Document
		All []openapi.Document
	}{d, all}); err != nil {
		panic(fmt.Sprintf("reference: page of %s: %v", d.Name, err))
	}
	return b.Bytes()
}

func read(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("reference: %v", err))
	}
	return b
}

func kind(name string) string { return mime.TypeByExtension(path.Ext(name)) }

// serve answers with a body that never changes, and is made once.
func serve(kind string, body func() []byte) fasthttp.RequestHandler {
	body = sync.OnceValue(body)
	return func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Response.Header
		h.Set(fasthttp.HeaderContentSecurityPolicy, policy)
		h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
		h.Set(fasthttp.HeaderReferrerPolicy, "no-referrer")
		h.Set(fasthttp.HeaderCacheControl, "max-age=3600")
		ctx.SetContentType(kind)
		ctx.Response.SetBodyRaw(body()) // shared by all answers
	}
}

// packed is serve of a body that is compressed with gzip, for clients that take it so and others.
func packed(kind string, zipped []byte) fasthttp.RequestHandler {
	whole := serve(kind, func() []byte { return unpack(zipped) })
	short := serve(kind, func() []byte { return zipped })
	return func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
		if strings.Contains(string(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding)), "gzip") {
			short(ctx)
			ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, "gzip")
			return
		}
		whole(ctx)
	}
}

func unpack(zipped []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err == nil {
		var b []byte
		if b, err = io.ReadAll(r); err == nil {
			return b
		}
	}
	panic(fmt.Sprintf("reference: %v", err))
}
