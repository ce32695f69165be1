package forward

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pixd/httpapi"
)

// odd are requests that must be answered by the owner as if it had been asked directly.
var odd = map[string]string{
	"plain":                "GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
	"uri":                  "GET /a/../b//%2e%2E/c%20d?x=1&x=%zz&&=#f HTTP/1.1\r\nHost: H:99\r\n\r\n",
	"names":                "GET / HTTP/1.1\r\nhOsT: h\r\nx-LOWER-case: v\r\nX_under: 1\r\nX-Pixd-Forwarded-For: kept\r\n\r\n",
	"values":               "GET / HTTP/1.1\r\nHost: h\r\nX:   spaces in  it  \r\nY:\r\nZ: \xc3\xa9\r\n\r\n",
	"twice":                "GET / HTTP/1.1\r\nHost: h\r\nX: 1\r\nx: 2\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nCookie: a=b\r\nCookie: c=d\r\n\r\n",
	"post":                 "POST /p HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
	"post, no length":      "POST /p HTTP/1.1\r\nHost: h\r\n\r\n",
	"post, length 0":       "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
	"length with zeros":    "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0003\r\n\r\nabc",
	"binary":               "PUT /p HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n\x00\xff\r\n\r\n",
	"multipart":            "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 50\r\n\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n-",
	"get with a body":      "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
	"delete with a body":   "DELETE /d HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
	"options":              "OPTIONS /o HTTP/1.1\r\nHost: h\r\n\r\n",
	"odd method":           "pUrge-it /o HTTP/1.1\r\nHost: h\r\n\r\n",
	"head":                 "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n",
	"chunked":              "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n",
	"chunked, empty":       "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
	"chunked, trailer":     "POST /c HTTP/1.1\r\nHost: h\r\nX: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nhmac: late\r\nX: 2\r\n\r\n",
	"chunked, announced":   "POST /c HTTP/1.1\r\nHost: h\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 5\r\n\r\n",
	"version 1.0":          "GET /a HTTP/1.0\r\n\r\n",
	"version 1.0, kept":    "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	"close":                "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
	"named by connection":  "GET /a HTTP/1.1\r\nHost: h\r\nX-Key: 1\r\nConnection: close, X-Key\r\n\r\n",
	"body of 5 MB":         "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n\r\n" + strings.Repeat("0123456789", 500_000),
	"5 MB in chunks":       "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("64\r\n"+strings.Repeat("0123456789", 10)+"\r\n", 50_000) + "0\r\n\r\n",
	"big head":             "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("v", 16<<10-100) + "\r\n\r\n",
	"refused, two lengths": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
	"two at once":          "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
}

// last is a request that ends a connection, so that all its answers can be read.
const last = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

func TestAnsweredAsDirectly(t *testing.T) {
	t.Parallel()
	direct := listens(t, httpapi.NewServer(echo, httpapi.ServerOptions{Name: "direct", Log: silent()}), "", nil)
	o := newOwner(t, "", nil, echo)
	n := newNode(t, Options{Owner: o.at("http")})
	for name, request := range odd {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(name, "refused") {
				request += last
			}
			want, _ := say(t, direct.address, request)
			got, _ := say(t, n.address, request)
			if undated(got) != undated(want) {
				t.Errorf("forwarded:\n%.600s\ndirectly:\n%.600s", got, want)
			}
			if !strings.HasPrefix(want, "HTTP/1.1 ") {
				t.Errorf("no answer: %.600s", want)
			}
		})
	}
}

var date = regexp.MustCompile(`\r\nDate: [^\r]* GMT`)

// undated takes the lines with a date out of answers: the server writes them before Content-Length
// where it sets the date itself, and behind it where the date has come with the answer. It tells
// how many there were.
func undated(answers string) string {
	return fmt.Sprint(date.ReplaceAllString(answers, ""), len(date.FindAllString(answers, -1)))
}
