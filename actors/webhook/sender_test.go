package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	short  = 200 * time.Millisecond // the time limit of attempts that are expected to reach it
	long   = 20 * time.Second       // the time limit of all others
)

var noon = time.Date(2026, 10, 29, 12, 0, 0, 987_654_321, time.UTC)

// sending returns a sender that may call receivers on this machine, by http and https.
func sending(t *testing.T, timeout time.Duration) *Sender {
	t.Helper()
	s := NewSender(NewTargets(true, nil), timeout)
	t.Cleanup(s.Close)
	return s
}

// event returns an attempt to deliver an event to a URL.
func event(url string) Post {
	return Post{URL: url, EventID: "evt_1", Secret: secret, At: noon, Body: []byte(`{"id":"evt_1"}`)}
}

// receiving starts a receiver over http.
func receiving(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// TestRequest checks every part of the request: it is a POST over HTTP/1.1 of the very bytes,
// with few headers, signed in a way that the library and a computation by hand accept.
func TestRequest(t *testing.T) {
	body := make([]byte, 1<<17) // more than any buffer on the way
	for i := range body {
		body[i] = byte(i * 7)
	}
	p := event("")
	p.Body, p.At = body, time.Now() // the library's Verify reads the clock
	stamp := strconv.FormatInt(p.At.Unix(), 10)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "evt_1.%s.%s", stamp, body)
	want := map[string]string{
		"Content-Type": "application/json", "User-Agent": "pixd/webhooks", "Content-Length": strconv.Itoa(len(body)),
		"Webhook-Id": "evt_1", "Webhook-Timestamp": stamp, "Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}
	calls := 0
	r := receiving(t, func(_ http.ResponseWriter, r *http.Request) {
		calls++
		got, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Proto != "HTTP/1.1" || string(got) != string(body) || len(r.TransferEncoding) > 0 {
			t.Error(r.Method, r.Proto, r.TransferEncoding, len(got))
		}
		if w, err := standardwebhooks.NewWebhook(secret); err != nil || w.Verify(got, r.Header) != nil {
			t.Error("the library does not accept the signature", err)
		}
		for name, value := range want {
			if r.Header.Get(name) != value || len(r.Header) != len(want) {
				t.Errorf("%s is %q, want %q, in %v", name, r.Header.Get(name), value, r.Header)
			}
		}
	})
	p.URL = r.URL
	if a := sending(t, long).Post(t.Context(), p); a != (Answer{Status: 200}) || calls != 1 {
		t.Error(a, calls)
	}
}

// TestFormerSecrets checks the signatures while former secrets sign too: in the one header, separated by spaces, the
// oldest secret's first. So the library takes the event with each of the secrets, and so does a receiver that
// looks at the first signature alone and has the oldest.
func TestFormerSecrets(t *testing.T) {
	const first, second = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
	var headers []http.Header
	r := receiving(t, func(_ http.ResponseWriter, r *http.Request) { headers = append(headers, r.Header.Clone()) })
	p := event(r.URL)
	p.At = time.Now()
	s := sending(t, long)
	alone := func(secret string) string {
		t.Helper()
		q := p
		q.Secret = secret
		if a := s.Post(t.Context(), q); a.Status != 200 {
			t.Fatal(a)
		}
		return headers[len(headers)-1].Get("webhook-signature")
	}
	want := strings.Join([]string{alone(first), alone(second), alone(secret)}, " ")
	p.Former = []string{first, second}
	if a := s.Post(t.Context(), p); a.Status != 200 {
		t.Fatal(a)
	}
	got := headers[len(headers)-1]
	if all := got.Values("webhook-signature"); len(all) != 1 || all[0] != want || len(p.Former) != 2 {
		t.Errorf("signed %q, want %q", all, want)
	}
	for _, one := range []string{first, second, secret} {
		if w, err := standardwebhooks.NewWebhook(one); err != nil || w.Verify(p.Body, got) != nil {
			t.Errorf("the library does not accept the signature with %s (%v)", one, err)
		}
	}
	if w, err := standardwebhooks.NewWebhook("whsec_CCCC"); err != nil || w.Verify(p.Body, got) == nil {
		t.Error("the library accepts a secret that never was the webhook's")
	}
	p.Former = []string{"hunter2"}
	if a := s.Post(t.Context(), p); a != (Answer{Err: errSecret.Error()}) {
		t.Errorf("with a broken former secret: %+v", a)
	}
}

// TestURLsAsGiven checks that a receiver sees path and query exactly as they were given.
func TestURLsAsGiven(t *testing.T) {
	var got string
	r := receiving(t, func(_ http.ResponseWriter, r *http.Request) { got = r.RequestURI + " " + r.Host })
	s := sending(t, long)
	for given, want := range map[string]string{
		"":                              "/",
		"/":                             "/",
		"?":                             "/?",
		"?a":                            "/?a",
		"/a//b/../c?x=%2F&y=":           "",
		"//":                            "",
		"//double//?":                   "",
		"/./../%2e%2E/%2F%7e~":          "",
		"/a;b=c,d/(e)!$&'*+,:@[]":       "",
		"/%C3%A9?%c3%a9=[]&a=+%20&&==?": "",
		"/caf%E9":                       "",
	} {
		if want == "" {
			want = given
		}
		want += " " + strings.TrimPrefix(r.URL, "http://")
		if a := s.Post(t.Context(), event(r.URL+given)); a.Status != 200 || got != want {
			t.Errorf("%q was sent as %q (%+v)", given, got, a)
		}
	}
}

// TestStatuses checks that every status is the answer, that Retry-After is read unless the
// status is 2xx, and that a redirect is not followed, wherever it leads.
func TestStatuses(t *testing.T) {
	calls := 0
	r := receiving(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.Header().Set("Set-Cookie", "a=b")
		if r.Header.Get("Cookie") != "" {
			t.Error("a cookie was sent")
		}
		status, _ := strconv.Atoi(r.URL.Query().Get("status"))
		w.WriteHeader(status)
	})
	s := sending(t, long)
	for _, to := range []string{"/elsewhere", "http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data/"} {
		for _, status := range []int{200, 201, 204, 299, 300, 301, 302, 303, 304, 307, 308, 400, 410, 429, 500, 503, 599, 999} {
			calls = 0
			want := Answer{Status: status}
			if status > 299 {
				want.RetryAfter = 7 * time.Second
			}
			if a := s.Post(t.Context(), event(fmt.Sprintf("%s/?status=%d&to=%s", r.URL, status, to))); a != want || calls != 1 {
				t.Errorf("%d: %+v after %d calls", status, a, calls)
			}
		}
	}
}

// TestRetryAfter checks both forms of the header, its bounds, and forms that it does not have.
func TestRetryAfter(t *testing.T) {
	at := noon.Truncate(time.Second)
	date := func(d time.Duration) string { return at.Add(d).Format(http.TimeFormat) }
	for header, want := range map[string]time.Duration{
		"0": 0, "1": time.Second, "0120": 2 * time.Minute, " 5 ": 5 * time.Second,
		"86400": 24 * time.Hour, "86401": 24 * time.Hour,
		"9223372036854775807": 24 * time.Hour, "18446744073709551615": 24 * time.Hour, "99999999999999999999999": 24 * time.Hour,
		date(90 * time.Second): 90 * time.Second, date(0): 0, date(-time.Hour): 0,
		date(24 * time.Hour): 24 * time.Hour, date(25 * time.Hour): 24 * time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": 24 * time.Hour,
		at.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT"): time.Minute,
		at.Add(time.Minute).Format(time.ANSIC):                       time.Minute,
		"Mon, 01 Jan 0001 00:00:00 GMT":                              0,
		"":                                                           0,
		"-1":                                                         0, "+5": 0, "1.5": 0, "1e3": 0, "5s": 0, "0x10": 0, "5, 6": 0, "1 000": 0, "soon": 0, "٥": 0, "12:00": 0,
		"2026-10-29T12:01:00Z":          0,
		"Thu, 29 Oct 2026 99:00:00 GMT": 0,
	} {
		r := receiving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		p := event(r.URL)
		p.At = at
		if a := sending(t, long).Post(t.Context(), p); a != (Answer{Status: 429, RetryAfter: want}) {
			t.Errorf("%q: %+v, want %v", header, a, want)
		}
	}
}

// TestCancelled checks that the caller's context ends an attempt.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := receiving(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		time.Sleep(short)
	})
	if a := sending(t, long).Post(ctx, event(r.URL)); a != (Answer{Err: "cancelled before an answer came"}) {
		t.Error(a)
	}
	if a := sending(t, long).Post(ctx, event(r.URL)); a.Status != 0 || a.Err == "" {
		t.Error(a)
	}
}

// TestMalformedPosts checks that a post which cannot be signed or addressed is not sent, and
// that the error shows neither secret nor credentials.
func TestMalformedPosts(t *testing.T) {
	calls := 0
	r := receiving(t, func(http.ResponseWriter, *http.Request) { calls++ })
	for name, change := range map[string]func(*Post){
		"no secret":       func(p *Post) { p.Secret = "" },
		"an empty secret": func(p *Post) { p.Secret = "whsec_" },
		"a blank secret":  func(p *Post) { p.Secret = "whsec_\n" },
		"no prefix":       func(p *Post) { p.Secret = "aHVudGVyMg==" },
		"no base64":       func(p *Post) { p.Secret = "whsec_hunter2!" },
		"credentials":     func(p *Post) { p.URL = strings.Replace(r.URL, "://", "://hunter2:hunter2@", 1) },
		"a fragment":      func(p *Post) { p.URL += "/#hunter2" },
		"a line break":    func(p *Post) { p.URL += "/?\r\nhunter2: x" },
		"another scheme":  func(p *Post) { p.URL = "ftp://hunter2/" },
		"no URL":          func(p *Post) { p.URL = "" },
		"a broken id":     func(p *Post) { p.EventID = "hunter2\r\nhunter2: x" },
	} {
		p := event(r.URL)
		change(&p)
		a := sending(t, long).Post(t.Context(), p)
		if a.Status != 0 || a.Err == "" || strings.Contains(a.Err, "hunter2") || strings.Contains(a.Err, "aHVu") || calls != 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	s := NewSender(NewTargets(false, nil), long)
	if a := s.Post(t.Context(), event(r.URL)); a != (Answer{Err: errHTTP.Error()}) || calls != 0 {
		t.Error("http was called:", a)
	}
}

// TestErrorTexts checks that any error becomes one short printable line.
func TestErrorTexts(t *testing.T) {
	for given, want := range map[string]string{
		"plain":                  "plain",
		"two\r\nlines\x00\x7f":   "two??lines??",
		`malformed "hunter2"`:    "malformed",
		`unknown ("hunter2")`:    "unknown",
		`"hunter2"`:              "no answer",
		"":                       "no answer",
		"é\xff":                  "??",
		"cpf 12345678909":        "cpf ***",
		strings.Repeat("é", 250): strings.Repeat("?", 200),
		strings.Repeat("a", 201): strings.Repeat("a", 200),
	} {
		if got := line(errors.New(given)); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
