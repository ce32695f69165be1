package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestOnlyUnknownKeyIsForGood checks that a payment is given back only where the engine says
// with 422 that the key is nobody's, and that its notice is sent again after any other answer.
func TestOnlyUnknownKeyIsForGood(t *testing.T) {
	for _, c := range []struct {
		status int
		answer string
		good   bool
	}{
		{422, `{"refusal":"unknown_key"}`, true},
		{422, `{"refusal":"unknown_key","since":1}`, true},
		{422, `{"refusal":"provider_rejected"}`, false},
		{422, `{"refusal":""}`, false},
		{422, `{}`, false},
		{422, `unknown_key`, false},
		{422, ``, false},
		{400, `{"refusal":"unknown_key"}`, false},
		{503, `{"refusal":"unknown_key"}`, false},
	} {
		err := refusalOf(c.status, []byte(c.answer))
		if err == nil || errors.Is(err, scheme.ErrNoPayee) != c.good {
			t.Errorf("%d %s: %v", c.status, c.answer, err)
		}
		if want := fmt.Sprintf("answer %d", c.status); !c.good && err != nil && err.Error()[:len(want)] != want {
			t.Errorf("%d %s: %v", c.status, c.answer, err)
		}
	}
}

// engine is a server that answers notices as an engine does, by a function of the notice.
func engine(t *testing.T, answer func(r *http.Request, n scheme.Notice) (status int, body string, signed bool)) *httptest.Server {
	guard := NewGuard(secret(t, shared), ToEngine, func() pix.Millis { return noon }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := Message{ToEngine, r.Method, r.RequestURI, r.Header.Get(HeaderTimestamp), r.Header.Get(HeaderMessageID), 0, body}
		if _, err := secret(t, shared).Verify(m, r.Header.Get(HeaderSignature), noon); err != nil {
			t.Error(err)
		}
		if r.URL.Path == PathNoticeCapabilities {
			http.NotFound(w, r)
			return
		}
		n, err := ReadNotice(body)
		if r.URL.Path != PathNotices || err != nil {
			t.Errorf("%s: %s (%v)", r.URL.Path, body, err)
		}
		status, text, signed := answer(r, n)
		if signed {
			at, signature := guard.Answer(m, status, []byte(text))
			w.Header().Set(HeaderTimestamp, at)
			w.Header().Set(HeaderSignature, signature)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server
}

func notifying(t *testing.T, server *httptest.Server) *Notifier {
	t.Helper()
	n, err := NewNotifier(optionsFor(t, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// TestNotifier checks that a notice is acknowledged by a signed 200 alone, and that the error of any other
// answer names the payment.
func TestNotifier(t *testing.T) {
	notice := notices[0]
	for name, c := range map[string]struct {
		status int
		body   string
		signed bool
		want   string // a part of the error; empty: the notice is acknowledged
	}{
		"acknowledged":     {200, `{}`, true, ""},
		"created":          {201, `{}`, true, "answer 201"},
		"unavailable":      {503, `{}`, true, "answer 503"},
		"nobody's key":     {422, `{"refusal":"unknown_key"}`, true, scheme.ErrNoPayee.Error()},
		"without a sign":   {200, `{}`, false, "without a signature"},
		"refused unsigned": {422, `{"refusal":"unknown_key"}`, false, "without a signature"},
	} {
		server := engine(t, func(_ *http.Request, n scheme.Notice) (int, string, bool) {
			if n.EndToEnd != notice.EndToEnd || n.Kind != notice.Kind {
				t.Errorf("%s: %+v", name, n)
			}
			return c.status, c.body, c.signed
		})
		done := make(chan error, 1)
		notifying(t, server).Take(notice, func(err error) { done <- err })
		err := <-done
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), notice.EndToEnd)) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, scheme.ErrNoPayee) != (c.want == scheme.ErrNoPayee.Error()) {
			t.Errorf("%s is for good: %v", name, err)
		}
	}
}

// TestNotifierCloses checks that Close gives up a notice whose answer has not come, and one that waits for
// its turn, that neither counts as acknowledged, and that a notice after it is given up at once.
func TestNotifierCloses(t *testing.T) {
	came := make(chan struct{}, noticesAtOnce)
	server := engine(t, func(r *http.Request, _ scheme.Notice) (int, string, bool) {
		came <- struct{}{}
		<-r.Context().Done()
		return 200, `{}`, true
	})
	n := notifying(t, server)
	done := make(chan error, noticesAtOnce+1)
	for range noticesAtOnce + 1 {
		n.Take(notices[0], func(err error) { done <- err })
	}
	for range noticesAtOnce {
		<-came
	}
	n.Close()
	for range noticesAtOnce + 1 {
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		default:
			t.Fatal("Close did not wait for a notice")
		}
	}
	n.Take(notices[0], func(err error) { done <- err })
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	default:
		t.Error("a notice after Close is not given up")
	}
}

// TestNotifierEndsItsQuestion checks that Close ends the question whether the engine takes groups, and does not wait for
// its answer.
func TestNotifierEndsItsQuestion(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path != PathNoticeCapabilities {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		close(asked)
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(server.Close)
	n := notifying(t, server)
	done := make(chan error, 1)
	n.Take(notices[0], func(err error) { done <- err })
	if err := <-done; err == nil {
		t.Error("an unsigned answer acknowledged a notice")
	}
	<-asked
	began := time.Now()
	n.Close()
	if <-ended; time.Since(began) > askPatience/2 {
		t.Error("the question went on until its time was over")
	}
}
