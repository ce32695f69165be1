package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// sender stands between an example and the engine. Once the example has the secret of its webhook, the sender
// sends webhooks to the example's receiver that are signed with it, at several times.
type sender struct {
	hook   string // the receiver's address
	engine *httputil.ReverseProxy

	mu       sync.Mutex
	secret   string            // until the example's next request
	answered map[string]string // by what was sent
	work     sync.WaitGroup
}

func newSender(t *testing.T, engine, hook string) (s *sender, address string) {
	t.Helper()
	to, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	s = &sender{hook: hook, engine: httputil.NewSingleHostReverseProxy(to), answered: map[string]string{}}
	s.engine.ModifyResponse = s.learn
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	return s, front.URL
}

// learn reads the secret from the answer that has it.
func (s *sender) learn(r *http.Response) error {
	if !strings.HasSuffix(r.Request.URL.Path, "/webhooks") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	var made struct{ Secret string }
	if err != nil || json.Unmarshal(body, &made) != nil {
		return fmt.Errorf("%s: %w", body, err)
	}
	s.mu.Lock()
	s.secret = made.Secret
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// ServeHTTP implements http.Handler.
func (s *sender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	secret := s.secret
	s.secret = ""
	s.mu.Unlock()
	if secret != "" {
		for name, ago := range map[string]time.Duration{"now": 0, "old": 10 * time.Minute, "ahead": -10 * time.Minute} {
			s.send(name, secret, time.Now().Add(-ago))
		}
	}
	s.engine.ServeHTTP(w, r)
}

// send sends a webhook. Some receivers answer only when the example waits for an event.
func (s *sender) send(name, secret string, at time.Time) {
	body := fmt.Sprintf(`{"id":"evt_%s","type":"pix.test","data":{}}`, name)
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		panic(err)
	}
	signature, err := w.Sign("evt_"+name, at, []byte(body))
	if err != nil {
		panic(err)
	}
	c := s.dial()
	if c == nil {
		return
	}
	_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nwebhook-id: evt_%s\r\nwebhook-timestamp: %d\r\nwebhook-signature: %s\r\n\r\n%s",
		len(body), name, at.Unix(), signature, body)
	s.work.Go(func() {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		line, _ := bufio.NewReader(c).ReadString('\n')
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answered[name] = line
	})
}

// dial connects to the receiver, which may begin to listen a little later; nil: it does not.
func (s *sender) dial() net.Conn {
	for range 100 {
		if c, err := net.Dial("tcp", s.hook); err == nil {
			return c
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// judge checks what the receiver answered: that only the webhook of now is good.
func (s *sender) judge(t *testing.T) {
	t.Helper()
	s.work.Wait()
	for name, want := range map[string]string{"now": "HTTP/1.1 204 ", "old": "HTTP/1.1 400 ", "ahead": "HTTP/1.1 400 "} {
		if got := strings.Replace(s.answered[name], "HTTP/1.0", "HTTP/1.1", 1); !strings.HasPrefix(got, want) {
			t.Errorf("a webhook that is signed rightly, %s: answered %q, want %s", name, got, want)
		}
	}
}
