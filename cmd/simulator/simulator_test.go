package simulator

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
	"pixd/wal"
)

// TestStreamedGroupIsInHand checks that a group whose answer has begun is in hand until its last message
// has ended, so that the simulator's end waits for it.
func TestStreamedGroupIsInHand(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	waits := make(chan struct{})
	fs := wal.BeforeSync(func() {
		if slow.Load() {
			<-waits
		}
	})
	const secretWord = "0123456789abcdef0123456789abcdef"
	c := Defaults()
	c.DataDir, c.Listen, c.AdminToken, c.SchemeSecret = t.TempDir(), "127.0.0.1:0", strings.Repeat("t", 32), secretWord
	c.Engine, c.FS, c.Log = "http://127.0.0.1:1", fs, slog.New(slog.DiscardHandler)
	s, err := Serve(c, control.Build{})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := provider.NewSecret(secretWord)
	if err != nil {
		t.Fatal(err)
	}
	const submission = `{"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E9999900420261029120000000000001",` +
		`"account_id":"acc_7wlwlb76tauiu","amount":100000,"key":{"type":"email","value":"ana@example.com"}}`
	m := provider.Message{
		Direction: provider.ToScheme, Method: http.MethodPost, Path: provider.PathGroup, ID: "g", Timestamp: pix.Millis(time.Now().UnixMilli()).String(),
		Body: []byte("unknown /v1/strange {}\nm-1 " + provider.PathSubmit + " " + submission + "\n"),
	}
	r, err := http.NewRequestWithContext(t.Context(), m.Method, "http://"+s.Addr.String()+m.Path, bytes.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(provider.HeaderTimestamp, m.Timestamp)
	r.Header.Set(provider.HeaderMessageID, m.ID)
	r.Header.Set(provider.HeaderSignature, secret.Sign(m))
	slow.Store(true)
	answer, err := http.DefaultClient.Do(r) // returns once the first line has come
	if err != nil {
		t.Fatal(err)
	}
	if n := s.traffic.InHand.Load(); n != 1 {
		t.Errorf("%d in hand while a message is in work", n)
	}
	close(waits)
	lines, err := io.ReadAll(answer.Body)
	if err != nil || bytes.Count(lines, []byte("\n")) != 2 || !bytes.Contains(lines, []byte("m-1 200 ")) {
		t.Errorf("%s, %v", lines, err)
	}
	for end := time.Now().Add(10 * time.Second); s.traffic.InHand.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still in hand after its end")
		}
	}
	if err := errors.Join(answer.Body.Close(), s.Shutdown()); err != nil {
		t.Error(err)
	}
}
