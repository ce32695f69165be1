package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

// longAudit is an engine whose audit ends once it was asked so many times how far it is, which it refuses to say in between.
type longAudit struct {
	asked   atomic.Int64
	endsAt  int64 // 0: never
	refuses func(n int64) bool
	ends    chan struct{}
}

func (e *longAudit) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/admin/audit" {
		select {
		case <-e.ends:
			_, _ = w.Write([]byte(`{"the":"report"}`))
		case <-q.Context().Done():
		}
		return
	}
	n := e.asked.Add(1)
	if n == e.endsAt {
		close(e.ends)
	}
	if e.refuses(n) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"status":503,"message":"starting"}}`))
		return
	}
	_, _ = w.Write([]byte(`{"running":{"stage":"records","records_done":7,"accounts_done":2,"accounts_total":3},"last":null}`))
}

// TestAuditTakesLong checks that an audit is waited for as long as the engine answers, though each other request has a
// timeout, and that an engine that falls silent is given up.
func TestAuditTakesLong(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	audits := func(e *longAudit, silent time.Duration) (string, error) {
		e.ends = make(chan struct{})
		s := httptest.NewServer(e)
		defer s.Close()
		o := &operator.Client{Base: s.URL, Token: token, HTTP: operator.NewHTTP(nil)}
		o.HTTP.Timeout = 500 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		l := &liveAudit{o, 100 * time.Millisecond, silent, terminal.NewProgress(&shown, true)}
		got, err := l.report(ctx)
		return string(got), err
	}
	every := func(n int64) bool { return n%5 != 0 }
	if got, err := audits(&longAudit{endsAt: 20, refuses: every}, 10*time.Second); got != `{"the":"report"}` || err != nil {
		t.Errorf("%s (%v)", got, err)
	}
	if want := "\rrecords: 7 records of 2 of 3 accounts, "; !strings.HasPrefix(shown.String(), want) {
		t.Errorf("it shows %q, want %q", shown.String(), want)
	}
	got, err := audits(&longAudit{refuses: func(n int64) bool { return n > 1 }}, time.Second)
	if want := "the audit is given up: starting (503)"; got != "" || err == nil || err.Error() != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

// TestAuditLine checks what is said of an audit that has not begun, and of one whose engine says something else.
func TestAuditLine(t *testing.T) {
	for raw, want := range map[string]string{
		`{"running":null,"last":null}`: "auditing, 20s",
		`[]`:                           "auditing, 20s",
		`{"running":{"stage":"comparing","records_done":7,"accounts_done":3,"accounts_total":3}}`: "comparing: 7 records of 3 of 3 accounts, 20s",
		`{"running":{"stage":"book"}}`: "book: 0 records of 0 of 0 accounts, 20s",
	} {
		got := auditLine([]byte(raw), 20*time.Second)
		if got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
		if left := progressLines.ReplaceAllString(got+"\n", ""); left != "" {
			t.Errorf("%q is left of it", left)
		}
	}
}
