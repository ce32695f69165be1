package signed

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/provider"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

const noon = pix.Millis(1_793_275_200_000)

// receiver is a side that takes groups of messages to /do, over real connections.
type receiver struct {
	t      *testing.T
	secret provider.Secret
	url    string
	serve  Serve

	mu     sync.Mutex
	done   []string // the bodies of the messages that were carried out
	sends  int      // how many answers were left that only had to be sent
	stated []pix.Millis
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	s, err := provider.NewSecret("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	v := &receiver{t: t, secret: s}
	v.serve = func(_ []byte, end func(bool)) (int, any, error) { end(true); return 200, provider.Done{}, nil }
	guard := provider.NewGuard(s, provider.ToScheme, func() pix.Millis { return noon }, func(at pix.Millis) { v.stated = append(v.stated, at) })
	quiet := slog.New(slog.DiscardHandler)
	carry := func(body []byte, end func(bool)) (int, any, error) {
		v.mu.Lock()
		v.done = append(v.done, string(body))
		v.mu.Unlock()
		return v.serve(body, end)
	}
	r := router.New()
	r.POST("/groups", HandleGroup(guard, quiet, map[string]Serve{"/do": carry}))
	r.POST("/do", Handle(guard, quiet, carry))
	port, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handle := func(ctx *fasthttp.RequestCtx) {
		r.Handler(ctx)
		if httpapi.OnlySends(ctx) {
			v.mu.Lock()
			v.sends++
			v.mu.Unlock()
		}
	}
	server := httpapi.NewServer(control.Contain(quiet, handle), httpapi.ServerOptions{Name: "test", Log: quiet})
	go func() { _ = server.Serve(httpapi.Limit(port, httpapi.ConnectionOptions{Log: quiet})) }()
	v.url = "http://" + port.Addr().String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = server.ShutdownWithContext(ctx)
	})
	return v
}

// send sends a signed request.
func (v *receiver) send(ctx context.Context, path, id, body string, at pix.Millis, alter func(*http.Request)) *http.Response {
	v.t.Helper()
	m := provider.Message{Direction: provider.ToScheme, Method: "POST", Path: path, Timestamp: at.String(), ID: id, Body: []byte(body)}
	r, err := http.NewRequestWithContext(ctx, m.Method, v.url+path, bytes.NewReader(m.Body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set(provider.HeaderTimestamp, m.Timestamp)
	r.Header.Set(provider.HeaderMessageID, id)
	r.Header.Set(provider.HeaderSignature, v.secret.Sign(m))
	if alter != nil {
		alter(r)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = got.Body.Close() })
	return got
}

// group sends a group, and returns its answer's lines by message id, without their signatures,
// which it checks.
func (v *receiver) group(id, body string) map[string]string {
	v.t.Helper()
	got := v.send(v.t.Context(), "/groups", id, body, noon, nil)
	lines := map[string]string{}
	for all := bufio.NewScanner(got.Body); all.Scan(); {
		of, what := v.read(all.Text(), "/do")
		if _, twice := lines[of]; twice {
			v.t.Errorf("a second line of %s", of)
		}
		lines[of] = what
	}
	if is := got.Header.Get("Content-Type"); got.StatusCode != 200 || is != provider.GroupType {
		v.t.Errorf("answer %d of type %q", got.StatusCode, is)
	}
	return lines
}

// read checks the signature of a line for a message to path.
func (v *receiver) read(line, path string) (id, what string) {
	v.t.Helper()
	f := strings.SplitN(line, " ", 5)
	if len(f) != 5 {
		v.t.Fatalf("line %q", line)
	}
	status, _ := strconv.Atoi(f[1])
	m := provider.Message{Direction: provider.ToScheme + "-answer", Method: "POST", Path: path, Timestamp: f[2], ID: f[0], Status: status, Body: []byte(f[4])}
	if _, err := v.secret.Verify(m, f[3], noon); err != nil && path == "/do" {
		return v.read(line, "/other")
	} else if err != nil {
		v.t.Errorf("%s: %v", line, err)
	}
	return f[0], f[1] + " " + f[4]
}

func (v *receiver) expect(got map[string]string, want map[string]string) {
	v.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		v.t.Errorf("%v\nwant %v", got, want)
	}
}

// carriedOut checks which messages have been carried out, in any order.
func (v *receiver) carriedOut(want ...string) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	slices.Sort(v.done)
	if !slices.Equal(v.done, want) {
		v.t.Errorf("carried out %q, want %q", v.done, want)
	}
}

// TestGroup checks that each message of a group is judged and answered by itself: carried out,
// refused, unknown, repeated, or without a line where its outcome is unknown or it panicked.
func TestGroup(t *testing.T) {
	v := newReceiver(t)
	working := make(chan struct{})
	v.serve = func(body []byte, end func(bool)) (int, any, error) {
		switch string(body) {
		case "fine":
			end(true)
			return 200, map[string]int{"n": 1}, nil
		case "refused":
			end(true)
			return 422, provider.Refusal{Code: "provider_rejected"}, nil
		case "bad":
			end(false)
			return 0, nil, control.Bad("no")
		case "cut":
			end(false)
			return 0, nil, ledger.ErrCut
		case "broken":
			end(false)
			return 0, nil, fmt.Errorf("the disk")
		case "working":
			<-working
			end(true)
			return 200, provider.Done{}, nil
		}
		panic("ouch")
	}
	first := make(chan *http.Response)
	go func() { first <- v.send(t.Context(), "/do", "w", "working", noon, nil) }()
	for {
		v.mu.Lock()
		begun := len(v.done) == 1
		v.mu.Unlock()
		if begun {
			break
		}
		time.Sleep(time.Millisecond)
	}
	busyAlone := v.send(t.Context(), "/do", "w", "working", noon, nil)
	if busyAlone.StatusCode != 503 || busyAlone.Header.Get("Retry-After") != "1" {
		t.Errorf("%d, %v", busyAlone.StatusCode, busyAlone.Header)
	}
	const body = "a /do fine\nb /do refused\nc /do bad\nd /do cut\ne /do broken\nf /do panic\ng /other {}\nw /do working\n"
	busy := `503 {"error":{"message":"this message is being worked on: send it again","status":503}}`
	want := map[string]string{
		"a": `200 {"n":1}`, "b": `422 {"refusal":"provider_rejected"}`, "c": `400 {"error":{"message":"no","status":400}}`,
		"e": `500 {"error":{"message":"internal error","status":500}}`, "g": `404 {"error":{"message":"no such path in a group","status":404}}`, "w": busy,
	}
	flip := func(m map[string]string) map[string]string { // the names of a problem's fields have an order of their own
		for id, line := range m {
			if status, _, isProblem := strings.Cut(line, ` {"error":{"status":`); isProblem {
				_, message, _ := strings.Cut(line, `"message":`)
				m[id] = status + ` {"error":{"message":` + strings.TrimSuffix(message, "}}") + `,"status":` + status + `}}`
			}
		}
		return m
	}
	v.expect(flip(v.group("g1", body)), want)
	v.carriedOut("bad", "broken", "cut", "fine", "panic", "refused", "working")

	// The same messages again, in another group and in the same one: what was acknowledged is
	// acknowledged again, without effect, and the others are carried out again.
	v.done = nil
	close(working)
	_ = (<-first).Body.Close()
	want["a"], want["b"], want["w"] = `200 {"known":true}`, `200 {"known":true}`, `200 {"known":true}`
	for _, group := range []string{"g2", "g1"} {
		v.expect(flip(v.group(group, body)), want)
		v.carriedOut("bad", "broken", "cut", "panic")
		v.done = nil
	}
}

// TestSinglyAfterGroup checks that a message of a group is known when it comes again by itself, and
// the other way about.
func TestSinglyAfterGroup(t *testing.T) {
	v := newReceiver(t)
	v.expect(v.group("g1", "a /do 1\nb /do 2\n"), map[string]string{"a": "200 {}", "b": "200 {}"})
	if body, _ := io.ReadAll(v.send(t.Context(), "/do", "a", "1", noon, nil).Body); string(body) != `{"known":true}` {
		t.Errorf("%s", body)
	}
	if body, _ := io.ReadAll(v.send(t.Context(), "/do", "c", "3", noon, nil).Body); string(body) != `{}` {
		t.Errorf("%s", body)
	}
	v.expect(v.group("g2", "c /do 3\nd /do 4\n"), map[string]string{"c": `200 {"known":true}`, "d": "200 {}"})
	v.carriedOut("1", "2", "3", "4")
}

// TestGroupIDStandsForNone checks that the id of a group, also of one that cannot be read, is not taken for
// that of a message: a message under the same id is carried out.
func TestGroupIDStandsForNone(t *testing.T) {
	v := newReceiver(t)
	v.expect(v.group("a", "a /do 1\n"), map[string]string{"a": "200 {}"})
	if got := v.send(t.Context(), "/groups", "q", "unreadable", noon, nil); got.StatusCode != 400 {
		t.Errorf("answer %d", got.StatusCode)
	}
	if body, _ := io.ReadAll(v.send(t.Context(), "/do", "q", "2", noon, nil).Body); string(body) != "{}" {
		t.Errorf("%s", body)
	}
	v.carriedOut("1", "2")
}

// TestCut checks that the connection of a single message whose outcome is unknown is cut.
func TestCut(t *testing.T) {
	v := newReceiver(t)
	v.serve = func(_ []byte, end func(bool)) (int, any, error) { end(false); return 0, nil, ledger.ErrCut }
	m := provider.Message{Direction: provider.ToScheme, Method: "POST", Path: "/do", Timestamp: noon.String(), ID: "a", Body: []byte("1")}
	r, err := http.NewRequestWithContext(t.Context(), m.Method, v.url+m.Path, bytes.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{provider.HeaderTimestamp: {m.Timestamp}, provider.HeaderMessageID: {m.ID}, provider.HeaderSignature: {v.secret.Sign(m)}}
	if got, err := http.DefaultClient.Do(r); err == nil {
		t.Errorf("answer %d", got.StatusCode)
	}
	v.carriedOut("1")
}

// TestStatedOnce checks that a group's time counts where the group comes for the first time alone.
func TestStatedOnce(t *testing.T) {
	v := newReceiver(t)
	for _, at := range []pix.Millis{noon - 1000, noon - 1000, noon - 2000} {
		_ = v.send(t.Context(), "/groups", "g1", "a /do 1\n", at, nil)
	}
	_ = v.send(t.Context(), "/groups", "g2", "a /do 1\n", noon-3000, nil)
	if !slices.Equal(v.stated, []pix.Millis{noon - 1000, noon - 3000}) {
		t.Errorf("%v", v.stated)
	}
}

// TestLinesAsTheyCome checks that the line of a fast message is sent while a slow one of its group is
// still in work, and that the answer ends with the last line.
func TestLinesAsTheyCome(t *testing.T) {
	v := newReceiver(t)
	slow := make(chan struct{})
	once := sync.OnceFunc(func() { close(slow) })
	v.serve = func(body []byte, end func(bool)) (int, any, error) {
		if string(body) == "slow" {
			<-slow
		}
		end(true)
		return 200, provider.Done{}, nil
	}
	began := time.Now()
	go func() { time.Sleep(20 * time.Second); once() }() // a test that fails ends
	got := v.send(t.Context(), "/groups", "g1", "a /do slow\nb /do fast\nc /do fast\n", noon, nil)
	if took := time.Since(began); took > 5*time.Second || got.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("the first line came after %v, with %v", took, got.Header)
	}
	lines := bufio.NewScanner(got.Body)
	var ids []string
	for range 2 {
		lines.Scan()
		id, _ := v.read(lines.Text(), "/do")
		ids = append(ids, id)
	}
	slices.Sort(ids)
	once()
	lines.Scan()
	id, _ := v.read(lines.Text(), "/do")
	if ids = append(ids, id); !slices.Equal(ids, []string{"b", "c", "a"}) || lines.Scan() || lines.Err() != nil {
		t.Errorf("%q, then %q %v", ids, lines.Text(), lines.Err())
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sends != 0 {
		t.Error("messages of a group that are in work count as an answer that only has to be sent")
	}
}

// TestSenderGone checks that every message of a group is carried out to its end, and acknowledged to
// a repeat, where the sender has gone in between.
func TestSenderGone(t *testing.T) {
	v := newReceiver(t)
	slow, ended := make(chan struct{}), make(chan struct{}, 2)
	v.serve = func(body []byte, end func(bool)) (int, any, error) {
		if string(body) != "fast" {
			<-slow
			defer func() { ended <- struct{}{} }()
		}
		end(true)
		return 200, provider.Done{}, nil
	}
	ctx, leave := context.WithCancel(t.Context())
	_ = v.send(ctx, "/groups", "g1", "a /do 1\nb /do 2\nc /do fast\n", noon, nil) // returns once a line has come
	leave()
	close(slow)
	<-ended
	<-ended
	v.expect(v.group("g2", "a /do 1\nb /do 2\n"), map[string]string{"a": `200 {"known":true}`, "b": `200 {"known":true}`})
}

// TestMessagesOutliveTheRequest checks that a message which is carried out after its group's request has been read and its memory
// has the next one, is the message that was sent.
func TestMessagesOutliveTheRequest(t *testing.T) {
	v := newReceiver(t)
	slow, got := make(chan struct{}), make(chan string, 1)
	guard := provider.NewGuard(v.secret, provider.ToScheme, func() pix.Millis { return noon }, nil)
	h := HandleGroup(guard, slog.New(slog.DiscardHandler), map[string]Serve{"/do": func(body []byte, end func(bool)) (int, any, error) {
		<-slow
		got <- string(body)
		end(true)
		return 200, provider.Done{}, nil
	}})
	const group = "a /do message\n"
	m := provider.Message{Direction: provider.ToScheme, Method: "POST", Path: "/groups", Timestamp: noon.String(), ID: "g1", Body: []byte(group)}
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetMethod(m.Method)
	ctx.Request.SetRequestURI(m.Path)
	ctx.Request.Header.Set(provider.HeaderTimestamp, m.Timestamp)
	ctx.Request.Header.Set(provider.HeaderMessageID, m.ID)
	ctx.Request.Header.Set(provider.HeaderSignature, v.secret.Sign(m))
	ctx.Request.SetBodyString(group)
	h(&ctx)
	ctx.Request.SetBodyString(strings.Repeat("x", len(group)))
	close(slow)
	if body := <-got; body != "message" {
		t.Errorf("carried out: %q", body)
	}
}

// TestAnswerLasts checks that the answer to a group lasts until its last message has ended, also where
// the sender has gone.
func TestAnswerLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &groupAnswer{lines: make(chan []byte, 3), left: 3}
		var err error
		over := false
		_, gone := io.Pipe()
		_ = gone.CloseWithError(io.ErrClosedPipe)
		go func() { err, over = a.stream(gone, nil), true }()
		for range 3 {
			if synctest.Wait(); over {
				t.Fatal("over before the last message")
			}
			a.lines <- []byte("line\n")
		}
		if synctest.Wait(); !over || err == nil {
			t.Errorf("over %v, %v", over, err)
		}
	})
}

// TestGroupRefused checks that a group that the other side did not sign, or that cannot be read, is
// refused whole, and nothing of it carried out; and that a message may come again after that.
func TestGroupRefused(t *testing.T) {
	v := newReceiver(t)
	unsigned := func(r *http.Request) { r.Header.Set(provider.HeaderSignature, "v1=00") }
	long := strings.Repeat("x", provider.MaxBody)
	var many strings.Builder
	for i := range provider.MaxGroup + 1 {
		fmt.Fprintf(&many, "m%d /do {}\n", i)
	}
	for name, c := range map[string]struct {
		body   string
		alter  func(*http.Request)
		at     pix.Millis
		status int
	}{
		"unsigned":        {"a /do 1\n", unsigned, noon, 401},
		"old":             {"a /do 1\n", nil, noon - 300_001, 401},
		"empty":           {"", nil, noon, 400},
		"no line feed":    {"a /do 1", nil, noon, 400},
		"no body":         {"a /do\n", nil, noon, 400},
		"no id":           {"a /do 1\n /do 1\n", nil, noon, 400},
		"no good id":      {"a /do 1\nä /do 1\n", nil, noon, 400},
		"the same id":     {"a /do 1\na /do 2\n", nil, noon, 400},
		"an empty line":   {"a /do 1\n\n", nil, noon, 400},
		"too long a body": {"a /do " + long + "x\n", nil, noon, 400},
		"too many":        {many.String(), nil, noon, 400},
	} {
		got := v.send(t.Context(), "/groups", "g-"+strings.ReplaceAll(name, " ", "-"), c.body, c.at, c.alter)
		signed := got.Header.Get(provider.HeaderSignature) != ""
		says, _ := io.ReadAll(got.Body)
		if got.StatusCode != c.status || signed != (c.status == 400) || signed != strings.Contains(string(says), "a group has 1 to 256 lines") {
			t.Errorf("%s: %d %s", name, got.StatusCode, says)
		}
	}
	v.carriedOut()
	v.expect(v.group("g1", "a /do "+long+"\n"), map[string]string{"a": "200 {}"})
	lines := v.group("g2", strings.Join(strings.SplitAfter(many.String(), "\n")[:provider.MaxGroup], ""))
	if len(lines) != provider.MaxGroup {
		t.Errorf("%d lines", len(lines))
	}
}

// TestMessageRefused checks that a single message which is too long, or which the other side did not sign, gets an
// answer without a signature and is not carried out; and that each answer is JSON.
func TestMessageRefused(t *testing.T) {
	v := newReceiver(t)
	long := strings.Repeat("x", provider.MaxBody)
	for name, c := range map[string]struct {
		body   string
		alter  func(*http.Request)
		status int
		says   string
	}{
		"the longest": {long, nil, 200, "{}"},
		"too long":    {long + "x", nil, 413, "the message is longer than"},
		"unsigned":    {"1", func(r *http.Request) { r.Header.Del(provider.HeaderSignature) }, 401, "signature"},
		"altered":     {"2", func(r *http.Request) { r.Header.Set(provider.HeaderMessageID, "other") }, 401, "signature"},
	} {
		got := v.send(t.Context(), "/do", "m-"+strings.ReplaceAll(name, " ", "-"), c.body, noon, c.alter)
		says, _ := io.ReadAll(got.Body)
		signed, is := got.Header.Get(provider.HeaderSignature) != "", got.Header.Get("Content-Type")
		if got.StatusCode != c.status || signed != (c.status == 200) || !strings.Contains(string(says), c.says) || is != "application/json" && signed || !strings.Contains(is, "json") {
			t.Errorf("%s: %d of type %s, signed %v: %s", name, got.StatusCode, is, signed, says)
		}
	}
	v.carriedOut(long)
}

// TestCapable checks the answer to the question for capabilities.
func TestCapable(t *testing.T) {
	ended := false
	status, value, err := Capable(nil, func(acknowledged bool) { ended = acknowledged })
	if status != 200 || string(control.Encode(value)) != `{"groups":256}` || err != nil || !ended {
		t.Error(status, value, err, ended)
	}
}
