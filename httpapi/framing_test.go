package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// smuggled is sent after every ambiguous request. If the server read it as a request, the
// answer would be 404.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

// only reads one answer, and checks that the server closes the connection after it.
func only(t *testing.T, name string, r *bufio.Reader) (status int, message string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0, ""
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || !resp.Close {
		t.Errorf("%s: %v, Connection: close %v", name, err, resp.Close)
	}
	_ = resp.Body.Close()
	var shape struct {
		Error struct {
			Status  int
			Message string
		}
	}
	if err := json.Unmarshal(body, &shape); err != nil || shape.Error.Status != resp.StatusCode || shape.Error.Message == "" {
		t.Errorf("%s: %s: %v", name, body, err)
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil && !strings.Contains(err.Error(), "reset by peer") {
		t.Errorf("%s: after the answer came %q, %v", name, rest, err)
	}
	return resp.StatusCode, shape.Error.Message
}

func TestDoubtfulFraming(t *testing.T) {
	f := newFixture(t)
	addr := f.listen()
	const post, chunk = "POST " + cashOut + " HTTP/1.1\r\nHost: x\r\n", "5\r\nabcde\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		raw  string
		want int
	}{
		"length and coding":             {post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
		"coding and length":             {post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + chunk, 400},
		"two lengths":                   {post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", 400},
		"two lengths, the same":         {post + "Content-Length: 5\r\ncontent-length: 5\r\n\r\nabcde", 400},
		"a list of lengths":             {post + "Content-Length: 5, 5\r\n\r\nabcde", 400},
		"two codings":                   {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
		"identity, then chunked":        {post + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
		"gzip, chunked":                 {post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk, 400},
		"chunked, chunked":              {post + "Transfer-Encoding: chunked, chunked\r\n\r\n" + chunk, 400},
		"identity":                      {post + "Transfer-Encoding: identity\r\n\r\n", 400},
		"identity with a length":        {post + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nabcde", 400},
		"no coding":                     {post + "Transfer-Encoding:\r\n\r\n" + chunk, 400},
		"quoted coding":                 {post + "Transfer-Encoding: \"chunked\"\r\n\r\n" + chunk, 400},
		"coding behind a vertical tab":  {post + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunk, 400},
		"coding in HTTP/1.0":            {"POST " + cashOut + " HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
		"signed length":                 {post + "Content-Length: +5\r\n\r\nabcde", 400},
		"negative length":               {post + "Content-Length: -5\r\n\r\nabcde", 400},
		"length in hexadecimal":         {post + "Content-Length: 0x5\r\n\r\nabcde", 400},
		"length with a fraction":        {post + "Content-Length: 5.0\r\n\r\nabcde", 400},
		"length with a space":           {post + "Content-Length: 5 5\r\n\r\nabcde", 400},
		"no length":                     {post + "Content-Length:\r\n\r\nabcde", 400},
		"length beyond all integers":    {post + "Content-Length: 99999999999999999999\r\n\r\nabcde", 400},
		"folded length":                 {post + "Content-Length:\r\n 5\r\n\r\nabcde", 400},
		"folded value":                  {post + "X: a\r\n b\r\n\r\n", 400},
		"folded by a tab":               {post + "X: a\r\n\tContent-Length: 5\r\n\r\n", 400},
		"folded first line":             {"GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
		"space before the colon":        {post + "Content-Length : 5\r\n\r\nabcde", 400},
		"tab before the colon":          {post + "Transfer-Encoding\t: chunked\r\n\r\n" + chunk, 400},
		"space in a name":               {post + "Content Length: 5\r\n\r\n", 400},
		"no name":                       {post + ": 5\r\n\r\n", 400},
		"no colon":                      {post + "Content-Length 5\r\n\r\n", 400},
		"a name with a slash":           {post + "X/Y: 5\r\n\r\n", 400},
		"a name with a high byte":       {post + "X\xe9: 5\r\n\r\n", 400},
		"bare CR in a value":            {post + "X: a\rContent-Length: 5\r\n\r\n", 400},
		"two CRs at the end":            {post + "X: a\r\r\n\r\n", 400},
		"NUL in a value":                {post + "X: a\x00b\r\n\r\n", 400},
		"NUL in a name":                 {post + "X\x00: a\r\n\r\n", 400},
		"bare LF between headers":       {post + "X: a\nY: b\r\n\r\n", 400},
		"bare LF at the end":            {post + "X: a\n\r\n", 400},
		"two bare LFs":                  {post + "X: a\n\n", 400},
		"version 1.2":                   {"GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505},
		"version 2.0":                   {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
		"version 0.9":                   {"GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505},
		"HTTP/2 without TLS":            {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
		"no version":                    {"GET /\r\nHost: x\r\n\r\n", 400},
		"version in lower case":         {"GET / http/1.1\r\nHost: x\r\n\r\n", 400},
		"version of three digits":       {"GET / HTTP/1.10\r\nHost: x\r\n\r\n", 400},
		"two spaces before the version": {"GET /  HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"no host":                       {"GET / HTTP/1.1\r\nX: y\r\n\r\n", 400},
		"no headers":                    {"GET / HTTP/1.1\r\n\r\n", 400},
		"an empty host":                 {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
		"two hosts":                     {"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
		"two hosts in HTTP/1.0":         {"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\nConnection: keep-alive\r\n\r\n", 400},
		"a host with a space":           {"GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400},
		"absolute target":               {"GET http://x" + balance + " HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"target with a host in front":   {"GET //x" + balance + "?u=http://y HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"the same in HTTP/1.0":          {"GET //x" + balance + " HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 400},
		"authority target":              {"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"asterisk target":               {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"control byte in the target":    {"GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"no number of a chunk":          {post + "Transfer-Encoding: chunked\r\n\r\nx\r\n", 400},
		"a chunk of another length":     {post + "Transfer-Encoding: chunked\r\n\r\n2\r\nabcde\r\n0\r\n\r\n", 400},
		"a method that marks a flaw":    {":b / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"a method beyond those":         {":z / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"a method that is none":         {":\x01 / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"two credentials":               {"GET " + balance + " HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey a:b\r\nauthorization: ApiKey c:d\r\n\r\n", 400},
		"two signatures":                {post + "hmac: a\r\nHMAC: b\r\nContent-Length: 5\r\n\r\nabcde", 400},
		"two idempotency keys":          {post + "Idempotency-Key: a\r\nidempotency-key: b\r\nContent-Length: 5\r\n\r\nabcde", 400},
		"two credentials on DELETE":     {"DELETE / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer a\r\n\r\n", 400},
		"two credentials on POST":       {post + "Authorization: ApiKey a:b\r\nAuthorization: ApiKey a:b\r\nContent-Length: 5\r\n\r\nabcde", 400},
		"two signatures on GET":         {"GET " + balance + " HTTP/1.1\r\nHost: x\r\nhmac: a\r\nhmac: a\r\n\r\n", 400},
		"two signatures on DELETE":      {"DELETE / HTTP/1.1\r\nHost: x\r\nhmac: a\r\nhmac: a\r\n\r\n", 400},
		"the same key twice":            {post + "Idempotency-Key: a\r\nIdempotency-Key: a\r\nContent-Length: 5\r\n\r\nabcde", 400},
	} {
		if got, _ := only(t, name, f.dial(addr, c.raw+smuggled)); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestRefusedWithoutBody checks that a request with a refused head is answered before the
// client has sent the body, and that a client which sends Expect: 100-continue for a body
// that is too large gets 413 at once.
func TestRefusedWithoutBody(t *testing.T) {
	f := newFixture(t)
	addr := f.listen()
	begin := time.Now()
	for name, c := range map[string]struct {
		raw  string
		want int
	}{
		"both":            {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		"both, and waits": {"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		"waits":           {"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 262145\r\n\r\n", 413},
	} {
		if got, _ := only(t, name, f.dial(addr, c.raw)); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
}

// TestGoodFraming checks that unambiguous requests are served, and that the connection stays
// open for a next request if HTTP allows that.
func TestGoodFraming(t *testing.T) {
	f := newFixture(t)
	addr := f.listen()
	const next = "GET /next HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		raw     string
		answers int
	}{
		"length":                    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde", 2},
		"length among spaces":       {"POST / HTTP/1.1\r\nHost: x\r\ncONTENT-lENGTH: \t5 \t\r\n\r\nabcde", 2},
		"a GET with a body":         {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde", 2},
		"a host alone":              {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 2},
		"an empty value":            {"GET / HTTP/1.1\r\nHost: x\r\nX:\r\n\r\n", 2},
		"an empty line before":      {"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 2},
		"two slashes":               {"GET //x HTTP/1.1\r\nHost: x\r\n\r\n", 2},
		"an address in the query":   {"GET /x?u=http://y HTTP/1.1\r\nHost: x\r\n\r\n", 2},
		"two keys on GET":           {"GET / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nidempotency-key: b\r\n\r\n", 2},
		"two keys on DELETE":        {"DELETE / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n", 2},
		"chunked":                   {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", 1},
		"Chunked":                   {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked \r\n\r\n5\r\nabcde\r\n0\r\n\r\n", 1},
		"chunked, ended by bare LF": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nA: b\n\n", 1},
		"HTTP/1.0":                  {"GET / HTTP/1.0\r\n\r\n", 1},
		"HTTP/1.0 that stays":       {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 2},
	} {
		r := f.dial(addr, c.raw+next+"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if c.answers == 2 {
			c.answers++ // the request for /last is answered too
		}
		for n := range c.answers {
			resp, err := http.ReadResponse(r, nil)
			if err != nil || resp.StatusCode != 404 {
				t.Errorf("%s: answer %d: %v, %v", name, n, resp, err)
				break
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil && !strings.Contains(err.Error(), "reset by peer") {
			t.Errorf("%s: too many answers: %q %v", name, rest, err)
		}
	}
}

// TestContinue checks that a client that sends Expect: 100-continue with a body within
// bounds gets 100.
func TestContinue(t *testing.T) {
	f := newFixture(t)
	r := f.dial(f.listen(), "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nabcde")
	for _, want := range []int{100, 404} {
		if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != want {
			t.Errorf("%v, %v", resp, err)
		}
	}
}

// usual is the head of a usual POST: judging it costs little and allocates nothing.
var usual = "POST " + cashOut + " HTTP/1.1\r\nHost: pix.example.com\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 72\r\n" +
	"Authorization: ApiKey cli_0123456789abcdef:sk_0123456789abcdef0123456789abcdef0123456789abcdef\r\nContent-Type: application/json\r\n" +
	"Hmac: " + strings.Repeat("0123456789abcdef", 8) + "\r\nIdempotency-Key: 2e7b9f4c-0d8f-4f6b-9f0e-0123456789ab\r\nAccept-Encoding: gzip\r\n\r\n"

func usualHead(t testing.TB) *fasthttp.RequestHeader {
	t.Helper()
	var h fasthttp.RequestHeader
	if err := h.Read(bufio.NewReader(strings.NewReader(usual))); err != nil {
		t.Fatal(err)
	}
	return &h
}

func TestJudgeAllocatesNothing(t *testing.T) {
	h := usualHead(t)
	if n := testing.AllocsPerRun(100, func() {
		if f := judge(h); f != sound {
			t.Fatal(flaws[f])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkJudge(b *testing.B) {
	h := usualHead(b)
	bodies := newBodies()
	b.ReportAllocs()
	for b.Loop() {
		bodies.received(h)
	}
}

// FuzzFraming checks that a head which judge accepts has only one reading: if a strict reader
// (net/http) accepts it too, that reader finds the same body length and the same end.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{usual, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n folded\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h fasthttp.RequestHeader
		r := bufio.NewReaderSize(bytes.NewReader(b), maxHeader)
		if err := h.Read(r); err != nil || judge(&h) != sound {
			return
		}
		strict := bufio.NewReader(bytes.NewReader(bytes.TrimLeft(b, "\r\n")))
		req, err := http.ReadRequest(strict)
		if err != nil {
			return // net/http is stricter than judge about this head, so there is nothing to compare
		}
		if ours, other := h.ContentLength(), req.ContentLength; ours >= 0 && other != int64(ours) || ours == chunkedLength && other != -1 || ours < chunkedLength && other != 0 {
			t.Errorf("length %d, by another reader %d", ours, other)
		}
		ours, _ := io.ReadAll(r)
		if other, _ := io.ReadAll(strict); !bytes.Equal(ours, other) {
			t.Errorf("left after the head: %q, by another reader %q", ours, other)
		}
	})
}
