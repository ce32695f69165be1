package admin

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-json"

	"pixd/actors/ledger"
)

// TestStatementBreaksOff checks that a movement that cannot be read is answered with a status
// where it is among the first, and cuts the connection where it is not.
func TestStatementBreaksOff(t *testing.T) {
	for _, format := range []string{"json", "csv"} {
		b, url := exporting(t, 5000)
		b.broken = 7
		for range exportsAtOnce + 1 { // each gives its place back
			if status, _, body := downloaded(t, url+"?format="+format); status != 500 || body != `{"error":{"status":500,"message":"internal error"}}` {
				t.Errorf("%d %s", status, body)
			}
		}
		b.broken = 3500
		for range exportsAtOnce + 1 {
			a := download(t, url+"?format="+format)
			body, err := io.ReadAll(a.Body)
			if a.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) || len(body) < 100_000 {
				t.Fatalf("%d, %d bytes, %v", a.StatusCode, len(body), err)
			}
		}
	}
}

// TestStatementIsLong sends 200,000 movements to a client that reads them, with little memory.
func TestStatementIsLong(t *testing.T) {
	b, url := exporting(t, 200_000)
	var most atomic.Uint64
	tx := b.tx
	b.tx = func(n uint64) *ledger.Transaction {
		if n%20_000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
		}
		return tx(n)
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for format, least := range map[string]int64{"json": 100 << 20, "csv": 30 << 20} {
		a := download(t, url+"?format="+format)
		n, err := io.Copy(io.Discard, a.Body)
		if err != nil || n < least {
			t.Errorf("%s: %d bytes, %v", format, n, err)
		}
	}
	if grown := int64(most.Load()) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes more than before", grown)
	}
}

// TestStatementWithoutReader checks that a client that goes away ends the reads, and that
// clients which do not read take no more than the places for statements, of which one operator has a share alone.
func TestStatementWithoutReader(t *testing.T) {
	b, url := exporting(t, 100_000_000)
	refused := func(token string) {
		t.Helper()
		a := downloadAs(t, token, url)
		body, err := io.ReadAll(io.LimitReader(a.Body, 1000))
		if a.StatusCode != 503 || err != nil || !strings.Contains(string(body), "try again later") {
			t.Fatalf("%d %s %v", a.StatusCode, body, err)
		}
	}
	var all []*http.Response
	for n := range exportsAtOnce / exportsShare {
		token := "operator"
		if n > 0 {
			token = tokenOf(t, url, fmt.Sprint("ana", n))
		}
		for range exportsShare {
			a := downloadAs(t, token, url)
			if _, err := io.ReadFull(a.Body, make([]byte, 1000)); a.StatusCode != 200 || err != nil {
				t.Fatalf("%d %v", a.StatusCode, err)
			}
			all = append(all, a)
		}
		refused(token)
	}
	refused(tokenOf(t, url, "last"))
	for _, a := range all {
		_ = a.Body.Close()
	}
	free := func() bool {
		a := download(t, url+"?to=2026-01-01")
		defer a.Body.Close()
		return a.StatusCode == 200
	}
	for end := time.Now().Add(10 * time.Second); !free(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the places are never free again")
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		was := b.reads.Load()
		time.Sleep(100 * time.Millisecond)
		if b.reads.Load() == was {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the reads go on without a client")
		}
	}
}

// tokenOf makes an operator, and returns the token; url is any of the API's.
func tokenOf(t *testing.T, url, name string) string {
	t.Helper()
	base, _, _ := strings.Cut(url, "/accounts/")
	r, err := http.NewRequest("POST", base+"/operators", strings.NewReader(fmt.Sprintf(`{"name":%q,"role":"viewer"}`, name)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer operator")
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var made struct{ Token string }
	if err := json.NewDecoder(a.Body).Decode(&made); err != nil || made.Token == "" {
		t.Fatalf("%d %v", a.StatusCode, err)
	}
	return made.Token
}

// TestStatementOverOldHTTP checks that a client without chunks is refused: it could not tell a
// part of a statement from the whole.
func TestStatementOverOldHTTP(t *testing.T) {
	_, url := exporting(t, 5)
	address, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /"+path+" HTTP/1.0\r\nAuthorization: Bearer operator\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 505 ") {
		t.Errorf("%s %v", got, err)
	}
}
