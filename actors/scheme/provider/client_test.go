package provider

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// optionsFor are those of a client that calls a side at a URL, at noon.
func optionsFor(t *testing.T, url string) Options {
	return Options{
		URL: url, Secret: secret(t, shared), Now: func() pix.Millis { return noon }, NewID: func() string { return "m" },
		Log: slog.New(slog.DiscardHandler),
	}
}

func asking(t *testing.T, url string) *Provider {
	t.Helper()
	p, err := New(optionsFor(t, url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

var payout = scheme.Payment{
	Tx: pix.NewTxID(noon, [10]byte{1}), Account: 7, EndToEnd: "E9999900420261029120000000000001", Amount: 100,
	Key: pix.Key{Type: pix.KeyEmail, Value: "a@example.com"},
}

// signing returns a handler that answers as a provider does; alter changes the answer before
// it is signed.
func signing(t *testing.T, status int, body string, alter func(*Message)) http.HandlerFunc {
	s := secret(t, shared)
	return func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		m := Message{ToScheme, r.Method, r.RequestURI, r.Header.Get(HeaderTimestamp), r.Header.Get(HeaderMessageID), 0, got}
		if _, err := s.Verify(m, r.Header.Get(HeaderSignature), noon); err != nil {
			t.Error(err)
		}
		m.Direction, m.Status, m.Body = ToScheme.answer(), status, []byte(body)
		if alter != nil {
			alter(&m)
		}
		w.Header().Set(HeaderTimestamp, m.Timestamp)
		w.Header().Set(HeaderSignature, s.Sign(m))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const wellSettled = `{"state":{"progress":"settled"}}`

// TestAnswers checks that a signed answer of the expected form is accepted, that a refusal
// with a known code is returned as *scheme.Refused, and that any other answer is an
// infrastructure error, after which nobody knows whether the payment arrived.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		alter  func(*Message)
		want   string // text that the error must contain; empty: no error, the payment is settled
	}{
		"settled":              {200, wellSettled, nil, ""},
		"with a field more":    {200, `{"state":{"progress":"settled","since":1},"note":{"a":[{}]}}`, nil, ""},
		"refused":              {422, `{"refusal":"provider_rejected"}`, nil, "refused: provider_rejected"},
		"refused by no code":   {422, `{"refusal":"nope"}`, nil, "answer 422"},
		"a merchant's refusal": {422, `{"refusal":"insufficient_balance"}`, nil, "answer 422"},
		"refused with 400":     {400, `{"refusal":"provider_rejected"}`, nil, "answer 400"},
		"refused with 500":     {500, `{"refusal":"provider_rejected"}`, nil, "answer 500"},
		"created":              {201, wellSettled, nil, "answer 201"},
		"redirected":           {307, wellSettled, nil, "answer 307"},
		"unavailable":          {503, `{}`, nil, "answer 503"},
		"another answer's":     {200, wellSettled, func(m *Message) { m.ID = "n" }, "signature"},
		"another path's":       {200, wellSettled, func(m *Message) { m.Path = PathAsk }, "signature"},
		"the request itself":   {200, wellSettled, func(m *Message) { m.Direction = ToScheme }, "signature"},
		"the other direction":  {200, wellSettled, func(m *Message) { m.Direction = ToEngine.answer() }, "signature"},
		"another status":       {200, wellSettled, func(m *Message) { m.Status = 422 }, "signature"},
		"another body":         {200, wellSettled, func(m *Message) { m.Body = nil }, "signature"},
		"an old one":           {200, wellSettled, func(m *Message) { m.Timestamp = (noon - 300_001).String() }, "clock"},
		"no JSON":              {200, `settled`, nil, "cannot be read"},
		"two":                  {200, wellSettled + wellSettled, nil, "cannot be read"},
		"twice":                {200, `{"state":{"progress":"settled","progress":"pending"}}`, nil, "cannot be read"},
		"in capitals":          {200, `{"State":{"progress":"settled"}}`, nil, "cannot be read"},
		"no state":             {200, `{"known":true}`, nil, "state.progress"},
		"another state":        {200, `{"state":{"progress":"lost"}}`, nil, "state.progress"},
		"rejected without why": {200, `{"state":{"progress":"rejected"}}`, nil, "state.reason"},
		"settled with a why":   {200, `{"state":{"progress":"settled","reason":"AC03"}}`, nil, "state.reason"},
		"longest":              {200, wellSettled[:len(wellSettled)-1] + `,"note":"` + strings.Repeat("x", MaxBody-len(wellSettled)-len(`,"note":""`)) + `"}`, nil, ""},
		"too long":             {200, `{"note":"` + strings.Repeat("x", MaxBody) + `"}`, nil, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(signing(t, c.status, c.body, c.alter))
			defer server.Close()
			state, err := asking(t, server.URL+"/base/").Submit(t.Context(), payout)
			var refused *scheme.Refused
			switch {
			case c.want == "":
				if err != nil || state.Progress != scheme.Settled {
					t.Errorf("%+v %v", state, err)
				}
			case err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "submit "+payout.Tx.String()):
				t.Errorf("%+v, %v", state, err)
			case errors.As(err, &refused) != (name == "refused"):
				t.Errorf("a refusal: %v", err)
			}
		})
	}
}

// TestNoAnswer checks that a call without an answer ends with its context, that a redirect
// is not followed, and that an answer without a signature is described in the error.
func TestNoAnswer(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case PathAsk:
			<-release
		case PathLookup:
			http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
		case PathSubmit:
			http.Error(w, "go away", http.StatusForbidden)
		case PathCapabilities:
			http.NotFound(w, r)
		default:
			t.Errorf("%s was asked", r.URL.Path)
		}
	}))
	defer server.Close()
	defer close(release)
	p := asking(t, server.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Ask(ctx, payout.Tx, payout.EndToEnd); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := p.Lookup(t.Context(), scheme.Query{Account: 7, Key: payout.Key, EndToEnd: payout.EndToEnd}); err == nil || !strings.Contains(err.Error(), "answer 308") {
		t.Error(err)
	}
	if _, err := p.Submit(t.Context(), payout); err == nil || !strings.Contains(err.Error(), `answer 403 without a signature: 8 bytes of "text/plain"`) {
		t.Error(err)
	}
}

// TestOwner checks that a key's owner is accepted only with an ISPB, and with a document in
// the form in which accounts compare documents.
func TestOwner(t *testing.T) {
	for body, good := range map[string]bool{
		`{"owner":{"name":"Ana","document":"12345678909","ispb":"99999005"}}`:    true,
		`{"owner":{"name":"Ana","document":"12ABC34501DE35","ispb":"99999005"}}`: true,
		`{"owner":{"name":"","document":"12345678909","ispb":"99999005"}}`:       true,
		`{"owner":{"name":"Ana","document":"123.456.789-09","ispb":"99999005"}}`: false,
		`{"owner":{"name":"Ana","document":"***.456.789-**","ispb":"99999005"}}`: false,
		`{"owner":{"name":"Ana","document":"12abc34501de35","ispb":"99999005"}}`: false,
		`{"owner":{"name":"Ana","document":"12345678909","ispb":"1A2B3C4D"}}`:    true,
		`{"owner":{"name":"Ana","document":"12345678909","ispb":"1a2B3C4D"}}`:    false,
		`{"owner":{"name":"Ana","document":"12345678909","ispb":"9999900"}}`:     false,
		`{"owner":{}}`: false,
		`{}`:           false,
	} {
		server := httptest.NewServer(signing(t, 200, body, nil))
		_, err := asking(t, server.URL).Lookup(t.Context(), scheme.Query{Account: 7, Key: payout.Key, EndToEnd: payout.EndToEnd})
		if (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
		server.Close()
	}
}

// TestTLS checks that no request is sent to a server whose certificate is not trusted.
func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(signing(t, 200, wellSettled, nil))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if _, err := asking(t, server.URL).Submit(t.Context(), payout); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	p := asking(t, server.URL)
	p.client.http.Transport.(*http.Transport).TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if state, err := p.Submit(t.Context(), payout); err != nil || state.Progress != scheme.Settled {
		t.Errorf("%+v %v", state, err)
	}
}

func TestParseURL(t *testing.T) {
	for _, good := range []string{"http://127.0.0.1:8090", "https://provider.example/pix/", "http://[::1]:1", "http://localhost"} {
		if _, err := ParseURL(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"", "sim", "127.0.0.1:8090", "ftp://a", "http://", "http:///x", "http://u:p@a", "http://a?x=1", "http://a?", "http://a#", "http:a", "http://:80", "http://a b",
	} {
		if u, err := ParseURL(bad); err == nil {
			t.Errorf("%q is %v", bad, u)
		}
	}
}

// TestKeysAreTold checks that a key is registered and deregistered by messages of their own, and
// that an error says which of them was not answered.
func TestKeysAreTold(t *testing.T) {
	var paths []string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		signing(t, status, `{}`, nil)(w, r)
	}))
	defer server.Close()
	p := asking(t, server.URL)
	for _, status = range []int{http.StatusOK, http.StatusServiceUnavailable} {
		for verb, tell := range map[string]func(context.Context, pix.Key, pix.AccountID) error{"register": p.RegisterKey, "deregister": p.DeregisterKey} {
			err := tell(t.Context(), payout.Key, payout.Account)
			if path := "/v1/keys/" + verb; paths[len(paths)-1] != path {
				t.Errorf("%s was sent to %s", verb, paths[len(paths)-1])
			}
			if want := "scheme: " + verb + " a key of " + payout.Account.String(); (err == nil) != (status == http.StatusOK) || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s, answered with %d: %v", verb, status, err)
			}
		}
	}
}
