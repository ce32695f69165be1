package reference

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/docs/openapi"
)

func get(h fasthttp.RequestHandler, path, accepts string) *fasthttp.Response {
	var ctx fasthttp.RequestCtx
	ctx.Request.SetRequestURI(path)
	ctx.Request.Header.Set("Accept-Encoding", accepts)
	h(&ctx)
	return &ctx.Response
}

// TestPages checks that each page loads what this server has and nothing else.
func TestPages(t *testing.T) {
	r := router.New()
	Routes(r, OfOperators...)
	pages := []string{"/docs"}
	for _, d := range OfOperators {
		pages = append(pages, "/docs/"+d.Name)
	}
	loads := regexp.MustCompile(`(?:src|href|data-url)="([^"]*)"`)
	for _, page := range pages {
		a := get(r.Handler, page, "")
		if a.StatusCode() != 200 || string(a.Header.ContentType()) != "text/html; charset=utf-8" {
			t.Fatalf("%s: %d %s", page, a.StatusCode(), a.Header.ContentType())
		}
		policy := string(a.Header.Peek("Content-Security-Policy"))
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe-eval") {
			t.Errorf("%s: policy %s", page, policy)
		}
		for _, m := range loads.FindAllSubmatch(a.Body(), -1) {
			if at := string(m[1]); at != "data:," {
				if a := get(r.Handler, at, "gzip"); a.StatusCode() != 200 || len(a.Body()) == 0 {
					t.Errorf("%s loads %s: %d", page, at, a.StatusCode())
				}
			}
		}
		for _, inline := range []string{"<style", "<script>", " style=", " onclick="} {
			if bytes.Contains(a.Body(), []byte(inline)) {
				t.Errorf("%s has %s", page, inline)
			}
		}
	}
}

// TestMadeLater checks that adding the pages makes none of them: a node that takes over adds them, too.
func TestMadeLater(t *testing.T) {
	if n := testing.AllocsPerRun(1, func() { Routes(router.New(), OfOperators...) }); n > 2_000 {
		t.Errorf("%v allocations", n)
	}
}

// TestDocuments checks both forms of a document.
func TestDocuments(t *testing.T) {
	r := router.New()
	Routes(r, openapi.Merchant)
	y, j := get(r.Handler, "/docs/merchant.yaml", ""), get(r.Handler, "/docs/merchant.json", "")
	if !bytes.HasPrefix(y.Body(), []byte("openapi: 3.1.0\n")) || string(y.Header.ContentType()) != "application/yaml" {
		t.Errorf("%s %.40s", y.Header.ContentType(), y.Body())
	}
	if !bytes.Contains(j.Body(), []byte(`"openapi":"3.1.0"`)) || string(j.Header.ContentType()) != "application/json" {
		t.Errorf("%s %.40s", j.Header.ContentType(), j.Body())
	}
}

// TestViewer checks that the viewer's files are those of the version that their README names, also for
// a client that takes no gzip.
func TestViewer(t *testing.T) {
	readme, err := os.ReadFile("swagger-ui/README.md")
	if err != nil {
		t.Fatal(err)
	}
	r := router.New()
	Routes(r, openapi.Merchant)
	sums := regexp.MustCompile(`([0-9a-f]{64})  (\S+)`).FindAllSubmatch(readme, -1)
	if len(sums) != 2 {
		t.Fatalf("%d sums", len(sums))
	}
	for _, m := range sums {
		plain, zipped := get(r.Handler, "/docs/"+string(m[2]), "br"), get(r.Handler, "/docs/"+string(m[2]), "br, gzip")
		got := sha256.Sum256(plain.Body())
		unzipped, err := zipped.BodyGunzip()
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(got[:]) != string(m[1]) || len(plain.Header.Peek("Content-Encoding")) != 0 {
			t.Errorf("%s: sum %x", m[2], got)
		}
		if !bytes.Equal(unzipped, plain.Body()) || string(zipped.Header.Peek("Content-Encoding")) != "gzip" || string(zipped.Header.Peek("Vary")) != "Accept-Encoding" {
			t.Errorf("%s: compressed it is another", m[2])
		}
	}
}
