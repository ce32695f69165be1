package schemetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-json"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/httpapi"
	"pixd/httpapi/notices"
)

const (
	token      = "a-token-of-the-tests"
	schemeWord = "a secret that engine and scheme share"
)

var quiet = slog.New(slog.DiscardHandler)

func secret(t *testing.T) provider.Secret {
	t.Helper()
	s, err := provider.NewSecret(schemeWord)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// callOptions are those of a client of the provider's protocol that calls a URL.
func callOptions(t *testing.T, url string) provider.Options {
	return provider.Options{URL: url, Secret: secret(t), Now: now, NewID: uuid.NewString, Log: quiet}
}

// serve serves a handler on a port of its own until the test ends, and returns the URL.
func serve(t *testing.T, h fasthttp.RequestHandler) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httpapi.NewServer(held(h), httpapi.ServerOptions{Name: "test", Log: quiet})
	go func() { _ = s.Serve(httpapi.Limit(l, httpapi.ConnectionOptions{Log: quiet})) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond) // a short time, because the shutdown would wait for the connections that clients keep open
		defer cancel()
		_ = s.ShutdownWithContext(ctx)
	})
	return "http://" + l.Addr().String()
}

// serveNotices serves the engine's side, which hands notices to feed.
func serveNotices(t *testing.T, feed scheme.Feed) string {
	t.Helper()
	return serve(t, noticeHandler(t, feed))
}

func noticeHandler(t *testing.T, feed scheme.Feed) fasthttp.RequestHandler {
	t.Helper()
	return notices.New(notices.Options{Guard: provider.NewGuard(secret(t), provider.ToEngine, now, nil), Feed: feed, Log: quiet})
}

// apart returns a process of `pixd sim` on the book in dir, and a provider that calls it.
func apart(t *testing.T, dir string) body {
	var feed atomic.Pointer[scheme.Feed]
	p := startProcess(t, dir, serveNotices(t, func(n scheme.Notice, done func(error)) {
		if f := feed.Load(); f != nil {
			(*f)(n, done)
			return
		}
		done(errors.New("nobody listens yet"))
	}))
	s, err := provider.New(callOptions(t, p.base))
	if err != nil {
		t.Fatal(err)
	}
	end := once(func() {
		p.kill()
		s.Close()
	})
	t.Cleanup(end)
	return body{
		Scheme: s, Now: now,
		Start: func(f scheme.Feed) error { feed.Store(&f); return nil },
		Pay: func(t *testing.T, k pix.Key, amount pix.Amount, at pix.Millis) string {
			t.Helper()
			status, answer := p.pay(t, fmt.Sprintf(`{"pix_key":%q,"amount":%d,"paid_at":%q}`, k.Value, amount, at-100)) // the process's clock may be some ms behind this one's
			var paid struct {
				EndToEnd string `json:"end_to_end_id"`
			}
			if err := json.Unmarshal(answer, &paid); err != nil || status != http.StatusCreated {
				t.Fatalf("%d %s %v", status, answer, err)
			}
			return paid.EndToEnd
		},
		Payable: func(t *testing.T, k pix.Key) bool {
			t.Helper()
			status, answer := p.pay(t, fmt.Sprintf(`{"pix_key":%q,"amount":1}`, k.Value))
			if status != http.StatusCreated && status != http.StatusNotFound {
				t.Fatalf("%d %s", status, answer)
			}
			return status == http.StatusCreated
		},
		Again: func(t *testing.T) body { end(); return apart(t, dir) },
	}
}

// simProcess is a running `pixd sim`.
type simProcess struct {
	base string // its URL
	cmd  *exec.Cmd
}

var readyLine = regexp.MustCompile(`msg=ready simulator=(\S+)`)

// startProcess starts `pixd sim` on a free port and waits until it is ready.
func startProcess(t *testing.T, dir, engine string) simProcess {
	t.Helper()
	cmd := exec.Command(binary(), "sim", "--data-dir", dir, "--listen", "127.0.0.1:0", "--engine", engine, "--settle-delay", "400ms") // longer than an answer takes, which waits for a sync or two
	cmd.Env = append(os.Environ(), "PIXD_ADMIN_TOKEN="+token, "PIXD_SCHEME_SECRET="+schemeWord)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ready := make(chan string, 1)
	go func() {
		var said strings.Builder
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
				_, _ = io.Copy(io.Discard, out)
				return
			}
			said.WriteString(lines.Text() + "\n")
		}
		t.Errorf("ended before it was ready:\n%s", said.String())
	}()
	select {
	case address := <-ready:
		return simProcess{"http://" + address, cmd}
	case <-time.After(20 * time.Second):
		t.Fatal("never ready")
		return simProcess{}
	}
}

func (p simProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// pay asks the process for a customer's payment, and returns what it answers.
func (p simProcess) pay(t *testing.T, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"/sim/payments", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, got
}

// binaryFolder is the folder of the program, which TestMain makes.
var binaryFolder string

func TestMain(m *testing.M) {
	var err error
	if binaryFolder, err = os.MkdirTemp("", "pixd-sim"); err != nil {
		panic(err)
	}
	code := documented(m.Run)
	if err := os.RemoveAll(binaryFolder); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// binary builds the program once, and returns its path. It reads the names and times of all source
// files: go test remembers which files a test looked at, and would otherwise reuse an old result
// after a change of the program, because these tests run it and do not link it.
var binary = sync.OnceValue(func() string {
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".mod", ".sum":
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	path := filepath.Join(binaryFolder, "pixd")
	if out, err := exec.Command("go", "build", "-pgo=off", "-o", path, "pixd/cmd/pixd").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build: %v\n%s", err, out))
	}
	return path
})
