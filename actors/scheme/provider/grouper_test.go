package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/pix"
)

// otherSide is the side that a client sends its messages to. A test takes each request from it, and
// answers it.
type otherSide struct {
	t    *testing.T
	s    Secret
	came chan *arrival // all paths below /pix
	now  pix.Millis
	*client

	stated atomic.Int64  // the time that the client was told last
	slow   time.Duration // how long a request takes to end once its context has ended
}

// arrival is a request that waits for its answer.
type arrival struct {
	side   *otherSide
	path   string
	id     string
	body   string
	ctx    context.Context
	answer chan *http.Response
}

// RoundTrip implements http.RoundTripper.
func (o *otherSide) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	path, _ := strings.CutPrefix(r.URL.Path, "/pix")
	a := &arrival{o, path, r.Header.Get(HeaderMessageID), string(body), r.Context(), make(chan *http.Response, 1)}
	m := Message{Direction: ToScheme, Method: r.Method, Path: r.URL.Path, Timestamp: r.Header.Get(HeaderTimestamp), ID: a.id, Body: body}
	if _, err := o.s.Verify(m, r.Header.Get(HeaderSignature), o.now); err != nil {
		o.t.Errorf("%s: %v", a.path, err)
	}
	if kind := r.Header.Get("Content-Type"); (kind == "application/json") == (path == PathGroup) || kind == "" {
		o.t.Errorf("a request to %s is %q", path, kind)
	}
	o.came <- a
	select {
	case got := <-a.answer:
		return got, nil
	case <-r.Context().Done():
		time.Sleep(o.slow)
		return nil, r.Context().Err()
	}
}

// rarely takes the messages that go through the connections for rare ones.
type rarely struct{ *otherSide }

// RoundTrip implements http.RoundTripper.
func (o rarely) RoundTrip(r *http.Request) (*http.Response, error) {
	if path, _ := strings.CutPrefix(r.URL.Path, "/pix"); !rare(path) {
		o.t.Errorf("%s goes through the connections for rare messages", path)
	}
	return o.otherSide.RoundTrip(r)
}

// newOtherSide returns a side with a client that calls it, in a bubble of synctest.
func newOtherSide(t *testing.T) *otherSide {
	o := &otherSide{t: t, s: secret(t, shared), came: make(chan *arrival, 1000), now: noon}
	var ids atomic.Int64
	c, err := newClient(Options{
		URL: "http://provider.example/pix", Secret: o.s, Now: func() pix.Millis { return o.now }, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { return fmt.Sprintf("m%04d", ids.Add(1)) }, Stated: func(at pix.Millis) { o.stated.Store(int64(at)) },
	}, ToScheme)
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport, c.rare.Transport, o.client = o, rarely{o}, c
	return o
}

// request takes the next request, which must be there and go to the path.
func (o *otherSide) request(path string) *arrival {
	o.t.Helper()
	synctest.Wait()
	select {
	case a := <-o.came:
		if a.path != path {
			o.t.Fatalf("a request to %s, want %s", a.path, path)
		}
		return a
	default:
		o.t.Fatalf("no request to %s", path)
		return nil
	}
}

// quiet checks that no request is there.
func (o *otherSide) quiet() {
	o.t.Helper()
	synctest.Wait()
	select {
	case a := <-o.came:
		o.t.Fatalf("a request to %s: %s", a.path, a.body)
	default:
	}
}

func (a *arrival) response(status int, body io.Reader) *http.Response {
	c, ok := body.(io.ReadCloser)
	if !ok {
		c = io.NopCloser(body)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: c}
}

// reply answers with a signature.
func (a *arrival) reply(status int, body string) {
	m := Message{ToScheme.answer(), "POST", "/pix" + a.path, a.side.now.String(), a.id, status, []byte(body)}
	r := a.response(status, strings.NewReader(body))
	r.Header.Set(HeaderTimestamp, m.Timestamp)
	r.Header.Set(HeaderSignature, a.side.s.Sign(m))
	a.answer <- r
}

// refuse answers without a signature.
func (a *arrival) refuse(status int) { a.answer <- a.response(status, strings.NewReader("{}")) }

// parts returns the parts of a group.
func (a *arrival) parts() []Part {
	a.side.t.Helper()
	all, err := ReadGroup([]byte(a.body))
	if err != nil {
		a.side.t.Fatalf("%s: %v", a.body, err)
	}
	return all
}

// line returns the line that answers a part with a body.
func (a *arrival) line(p Part, body string) []byte { return a.lineAt(noon, p, body) }

func (a *arrival) lineAt(at pix.Millis, p Part, body string) []byte {
	g := NewGuard(a.side.s, ToScheme, func() pix.Millis { return at }, nil)
	return g.AnswerPart(nil, &p, http.StatusOK, []byte(body))
}

// lines begins the answer to a group, of which the test then writes the lines.
func (a *arrival) lines() *io.PipeWriter {
	r, w := io.Pipe()
	a.answer <- a.response(http.StatusOK, r)
	return w
}

// all answers a group whole: each part with its own body.
func (a *arrival) all() {
	var b []byte
	for _, p := range a.parts() {
		b = append(b, a.line(p, string(p.Body))...)
	}
	a.answer <- a.response(http.StatusOK, bytes.NewReader(b))
}

// mail is a message under way.
type mail struct {
	body string
	got  string // the answer
	err  error
	done bool
	end  context.CancelFunc
}

// post posts a message whose body names n.
func (o *otherSide) post(n int) *mail {
	o.t.Helper()
	ctx, end := context.WithCancel(o.t.Context())
	m := &mail{body: fmt.Sprintf(`{"n":%d}`, n), end: end}
	go func() {
		defer end()
		_, got, err := o.client.post(ctx, PathAsk, map[string]int{"n": n}, MaxBody)
		m.got, m.err, m.done = string(got), err, true
	}()
	synctest.Wait()
	return m
}

// answered checks that a message has the answer that is its own body.
func (o *otherSide) answered(m *mail) {
	o.t.Helper()
	if synctest.Wait(); !m.done || m.err != nil || m.got != m.body {
		o.t.Errorf("%s: %+v", m.body, m)
	}
}

// lost checks that a message has failed, with an error that says something.
func (o *otherSide) lost(m *mail, says string) {
	o.t.Helper()
	if synctest.Wait(); !m.done || m.err == nil || !strings.Contains(m.err.Error(), says) {
		o.t.Errorf("%s: %+v, want %q", m.body, m, says)
	}
}

// able lets the client find out that the side takes groups.
func (o *otherSide) able(most string) {
	o.t.Helper()
	m := o.post(0)
	a, b := o.request2()
	a.reply(http.StatusOK, `{"groups":`+most+`,"more":true}`)
	b.reply(http.StatusOK, m.body)
	o.answered(m)
}

// request2 takes the question for capabilities and the message that came with it.
func (o *otherSide) request2() (question, message *arrival) {
	o.t.Helper()
	synctest.Wait()
	a, b := <-o.came, <-o.came
	if a.path != PathCapabilities {
		a, b = b, a
	}
	if a.path != PathCapabilities || a.body != "{}" || b.path != PathAsk {
		o.t.Fatalf("%s and %s", a.path, b.path)
	}
	return a, b
}

// inBubble runs a test in a bubble of synctest, and closes the side's client at its end.
func inBubble(t *testing.T, test func(t *testing.T, o *otherSide)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := newOtherSide(t)
		defer o.client.close()
		test(t, o)
	})
}

// TestGroups checks that a message travels by itself where nothing is under way, that what comes
// while one is under way waits and then travels together, and that each gets its own answer.
func TestGroups(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		o.able("256")
		first := o.post(1)
		alone := o.request(PathAsk)
		second, third, fourth := o.post(2), o.post(3), o.post(4)
		o.quiet()
		alone.reply(http.StatusOK, first.body)
		o.answered(first)
		group := o.request(PathGroup)
		parts := group.parts()
		if len(parts) != 3 || string(parts[0].Body) != second.body || parts[1].Path != PathAsk || parts[0].ID == parts[1].ID || group.id == parts[0].ID {
			t.Fatalf("%s", group.body)
		}
		late := o.post(5)
		o.quiet()
		group.all()
		for _, m := range []*mail{second, third, fourth} {
			o.answered(m)
		}
		o.request(PathAsk).reply(http.StatusOK, late.body)
		o.answered(late)
		if group.ctx.Err() == nil {
			t.Error("a group that is over keeps its context")
		}
	})
}

// TestHeldBack checks that a request which is answered late, a single one or a group, holds back
// what comes after it for holdTime alone, and that the lines of a group are handed on as they come.
func TestHeldBack(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		o.able("256")
		first := o.post(1)
		alone := o.request(PathAsk)
		second, third := o.post(2), o.post(3)
		time.Sleep(holdTime - 1)
		o.quiet()
		time.Sleep(time.Nanosecond)
		group := o.request(PathGroup)
		fourth := o.post(4)
		o.quiet()
		time.Sleep(holdTime)
		o.request(PathAsk).reply(http.StatusOK, fourth.body)
		o.answered(fourth)

		w, parts := group.lines(), group.parts()
		_, _ = w.Write(group.line(parts[1], third.body))
		o.answered(third)
		if second.done {
			t.Error("answered before its line came")
		}
		_, _ = w.Write(group.line(parts[0], second.body))
		o.answered(second)
		_ = w.Close()
		alone.reply(http.StatusOK, first.body)
		o.answered(first)
	})
}

// group lets two messages travel in one request.
func (o *otherSide) group(n int) (*arrival, *mail, *mail) {
	o.t.Helper()
	first := o.post(n)
	alone := o.request(PathAsk)
	a, b := o.post(n+1), o.post(n+2)
	alone.reply(http.StatusOK, first.body)
	o.answered(first)
	return o.request(PathGroup), a, b
}

// TestLinesMissing checks that a message of a group is unknown where its line does not come, cannot
// be read, or is not signed for it, and that the others have their answers.
func TestLinesMissing(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		write func(a *arrival, p, other Part, w io.Writer)
	}{
		"none": {"ended early", func(*arrival, Part, Part, io.Writer) {}},
		"broken off": {"ended early", func(a *arrival, p, _ Part, w io.Writer) {
			line := a.line(p, string(p.Body))
			_, _ = w.Write(line[:len(line)-1])
		}},
		"no line":                 {"is not an id, a status", func(_ *arrival, p, _ Part, w io.Writer) { _, _ = io.WriteString(w, p.ID+" 200 {}\n") }},
		"no status":               {"is not an id, a status", func(_ *arrival, p, _ Part, w io.Writer) { _, _ = io.WriteString(w, p.ID+" ok t s {}\n") }},
		"a status of two digits":  {"is not an id, a status", func(_ *arrival, p, _ Part, w io.Writer) { _, _ = io.WriteString(w, p.ID+" +99 t s {}\n") }},
		"a status of four digits": {"is not an id, a status", func(_ *arrival, p, _ Part, w io.Writer) { _, _ = io.WriteString(w, p.ID+" 0200 t s {}\n") }},
		"altered": {"the signature does not match", func(a *arrival, p, _ Part, w io.Writer) {
			line := a.line(p, string(p.Body))
			line[len(line)-2] = ' '
			_, _ = w.Write(line)
		}},
		"another's": {"the signature does not match", func(a *arrival, p, other Part, w io.Writer) {
			line := a.line(other, string(p.Body))
			_, _ = w.Write(append([]byte(p.ID), line[len(other.ID):]...))
		}},
		"of another path": {"the signature does not match", func(a *arrival, p, _ Part, w io.Writer) {
			p.Path = PathSubmit
			_, _ = w.Write(a.line(p, string(p.Body)))
		}},
		"old": {"away from this side's clock", func(a *arrival, p, _ Part, w io.Writer) {
			_, _ = w.Write(a.lineAt(noon-300_001, p, string(p.Body)))
		}},
		"too long": {"ended early", func(a *arrival, p, _ Part, w io.Writer) {
			_, _ = w.Write(a.line(p, strings.Repeat("x", maxAnswerLine)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, o *otherSide) {
				o.able("256")
				group, good, bad := o.group(1)
				parts := group.parts()
				w := group.lines()
				go func() {
					_, _ = w.Write(group.line(parts[0], good.body))
					c.write(group, parts[1], parts[0], w)
					_ = w.Close()
				}()
				o.answered(good)
				o.lost(bad, c.says)
				if last := pix.Millis(o.stated.Load()); name == "old" && last != noon-300_001 || name != "old" && last != noon {
					t.Errorf("stated %v", last)
				}
			})
		})
	}
}

// TestStrangeLines checks that lines for no message of the group, and second lines, change nothing.
func TestStrangeLines(t *testing.T) {
	inBubble(t, func(_ *testing.T, o *otherSide) {
		o.able("256")
		group, a, b := o.group(1)
		parts := group.parts()
		w := group.lines()
		go func() {
			_, _ = w.Write(group.line(Part{ID: "strange", Path: PathAsk}, "{}"))
			_, _ = w.Write(group.line(parts[0], a.body))
			_, _ = w.Write(group.line(parts[0], `{"n":99}`))
			_, _ = w.Write(group.line(parts[1], b.body))
			_ = w.Close()
		}()
		o.answered(a)
		o.answered(b)
	})
}

// TestGroupFails checks that a group which is answered by no 200 leaves each of its messages
// unknown, and that after a refusal other than 503 messages travel by themselves until the other side
// is asked again after a minute. After a 404 or 405, by which a side of an earlier version answers, so
// do those of the group.
func TestGroupFails(t *testing.T) {
	for status, c := range map[int]struct{ resent, still bool }{
		404: {resent: true}, 405: {resent: true}, 503: {still: true}, 500: {}, 413: {}, 401: {}, 302: {},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inBubble(t, func(t *testing.T, o *otherSide) {
				o.able("256")
				group, a, b := o.group(1)
				waiting := []*mail{o.post(7), o.post(8)}
				o.now += askEvery - 1
				group.refuse(status)
				if c.resent {
					waiting = append(waiting, a, b)
				} else {
					o.lost(a, fmt.Sprint("answer ", status))
					o.lost(b, fmt.Sprint("answer ", status))
				}
				if c.still {
					o.request(PathGroup).all()
					o.answered(waiting[0])
					o.answered(waiting[1])
					return
				}
				o.singly(group, waiting)
				o.now += askEvery - 1
				x, y := o.post(9), o.post(10)
				o.singly(group, []*mail{x, y})
				o.now++
				o.able("256")
				group, x, y = o.group(20)
				group.all()
				o.answered(x)
				o.answered(y)
			})
		})
	}
}

// singly answers messages that are all there by themselves; those that a group had keep their ids.
func (o *otherSide) singly(group *arrival, all []*mail) {
	o.t.Helper()
	ids := map[string]string{}
	for _, p := range group.parts() {
		ids[string(p.Body)] = p.ID
	}
	var came []*arrival
	for range all {
		alone := o.request(PathAsk)
		if id := ids[alone.body]; id != "" && id != alone.id {
			o.t.Errorf("%s was %s, and is %s", alone.body, id, alone.id)
		}
		came = append(came, alone)
	}
	for _, a := range came {
		a.reply(http.StatusOK, a.body)
	}
	for _, m := range all {
		o.answered(m)
	}
}

// TestSideWithoutGroups checks that a side of an earlier version, which answers the question for
// groups 404, gets every message at once and by itself, and is asked once a minute.
func TestSideWithoutGroups(t *testing.T) {
	for name, answer := range map[string]func(*arrival){
		"404":                  func(a *arrival) { a.refuse(404) },
		"none":                 func(a *arrival) { a.reply(200, `{}`) },
		"one":                  func(a *arrival) { a.reply(200, `{"groups":1}`) },
		"a refusal":            func(a *arrival) { a.reply(422, `{"groups":256}`) },
		"unsigned":             func(a *arrival) { a.answer <- a.response(200, strings.NewReader(`{"groups":256}`)) },
		"not to be read":       func(a *arrival) { a.reply(200, `{"groups":"many"}`) },
		"none within its time": func(*arrival) { time.Sleep(askPatience) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(_ *testing.T, o *otherSide) {
				first := o.post(1)
				question, a := o.request2()
				second := o.post(2)
				b := o.request(PathAsk)
				answer(question)
				third := o.post(3)
				c := o.request(PathAsk)
				for m, a := range map[*mail]*arrival{first: a, second: b, third: c} {
					a.reply(http.StatusOK, m.body)
					o.answered(m)
				}
				o.now += askEvery - 1
				fourth := o.post(4)
				o.request(PathAsk).reply(http.StatusOK, fourth.body)
				o.quiet()
				if name == "one" {
					o.now = noon - 1 // the clock was set back: the question's time says nothing
				} else {
					o.now++
				}
				o.able("2")
				group, x, y := o.group(5)
				group.all()
				o.answered(x)
				o.answered(y)
			})
		})
	}
}

// TestGroupSize checks that a group has at most as many messages as the other side takes, at most
// MaxGroup of them, and at most MaxGroupBytes.
func TestGroupSize(t *testing.T) {
	const line = len("m0000 " + PathAsk + " \n") // the length of a line beside its body
	for name, c := range map[string]struct {
		takes string
		post  int
		long  int // length of each message
		want  []int
	}{
		"what it takes":  {"3", 7, 0, []int{1, 3, 3}},
		"ours at most":   {"1000", 300, 0, []int{44, 256}},
		"bytes":          {"256", 9, 50_000, []int{4, 5}},
		"bytes, exactly": {"256", 4, MaxGroupBytes/4 - line, []int{4}},
		"one byte more":  {"256", 5, MaxGroupBytes/4 - line + 1, []int{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, o *otherSide) {
				o.able(c.takes)
				first := o.post(1)
				alone := o.request(PathAsk)
				for range c.post {
					go func() {
						_, _, _ = o.client.groups.post(t.Context(), PathAsk, []byte(strings.Repeat("x", max(c.long, 1))))
					}()
				}
				synctest.Wait()
				alone.reply(http.StatusOK, first.body)
				var got []int
				for synctest.Wait(); len(o.came) > 0; synctest.Wait() {
					a := <-o.came
					n := 1
					if a.path == PathGroup {
						n = len(a.parts())
					}
					if len(a.body) > MaxGroupBytes {
						t.Errorf("%d messages, %d bytes", n, len(a.body))
					}
					got = append(got, n)
					a.refuse(503)
				}
				if slices.Sort(got); !slices.Equal(got, c.want) {
					t.Errorf("groups of %v, want %v", got, c.want)
				}
				o.quiet()
			})
		})
	}
}

// TestGone checks that a message whose caller has gone is not sent if it still waits, gives its turn
// back, does not disturb the others of its group, and that a group without callers ends.
func TestGone(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		o.able("256")
		first := o.post(1)
		alone := o.request(PathAsk)
		gone, second, third := o.post(2), o.post(3), o.post(4)
		gone.end()
		o.lost(gone, "canceled")
		alone.reply(http.StatusOK, first.body)
		group := o.request(PathGroup)
		if parts := group.parts(); len(parts) != 2 || string(parts[0].Body) != second.body {
			t.Fatalf("%s", group.body)
		}
		second.end()
		o.lost(second, "canceled")
		if group.ctx.Err() != nil {
			t.Error("the group ended with a caller still there")
		}
		w := group.lines()
		_, _ = w.Write(group.line(group.parts()[1], third.body))
		o.answered(third)
		_ = w.Close()

		group, a, b := o.group(10)
		a.end()
		b.end()
		o.lost(a, "canceled")
		o.lost(b, "canceled")
		if group.ctx.Err() == nil {
			t.Error("the group goes on without callers")
		}

		lonely := o.post(20)
		left := o.request(PathAsk)
		next := o.post(21)
		lonely.end()
		o.lost(lonely, "canceled")
		if left.ctx.Err() == nil {
			t.Error("the request goes on without its caller")
		}
		o.request(PathAsk).reply(http.StatusOK, next.body)
		o.answered(next)
	})
}

// TestLeaveWithTurn checks that a message whose turn comes just when its caller goes gives the turn
// to those that wait.
func TestLeaveWithTurn(t *testing.T) {
	inBubble(t, func(_ *testing.T, o *otherSide) {
		o.able("256")
		g := o.client.groups
		c := g.join(PathAsk, []byte("{}")) // has its turn
		next := o.post(1)
		o.quiet()
		g.leave(c)
		o.request(PathAsk).reply(http.StatusOK, next.body)
		o.answered(next)
	})
}

// TestOpenEnd checks that an answer whose lines have all come, and which does not end, keeps its
// connection for drainTime alone.
func TestOpenEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		o.able("256")
		group, a, b := o.group(1)
		parts := group.parts()
		w := group.lines()
		_, _ = w.Write(append(group.line(parts[0], a.body), group.line(parts[1], b.body)...))
		o.answered(a)
		o.answered(b)
		time.Sleep(drainTime - 1)
		if synctest.Wait(); group.ctx.Err() != nil {
			t.Error("ended early")
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); group.ctx.Err() == nil {
			t.Error("its connection is kept")
		}
		_ = w.Close()
	})
}

// TestAllThatWaits checks that all that waits is sent when its turn comes, in as many groups as it
// takes, so that nothing waits for longer than holdTime.
func TestAllThatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		o.able("2")
		first := o.post(1)
		alone := o.request(PathAsk)
		for n := range 400 {
			o.post(2 + n)
		}
		time.Sleep(holdTime)
		for range 200 {
			defer o.request(PathGroup).all()
		}
		o.post(500)
		o.quiet() // the last group holds it back
		time.Sleep(holdTime)
		defer o.request(PathAsk).refuse(503)
		alone.reply(http.StatusOK, first.body)
		o.answered(first)
	})
}

// TestPostAfterClose checks that a message after the client's end travels by itself and asks nothing, as do
// those that waited then.
func TestPostAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOtherSide(t)
		o.able("256")
		first := o.post(1)
		alone := o.request(PathAsk)
		waits, too := o.post(2), o.post(3)
		o.client.close()
		alone.reply(http.StatusOK, first.body)
		o.answered(first)
		for range 2 {
			a := o.request(PathAsk)
			a.reply(http.StatusOK, a.body)
		}
		o.answered(waits)
		o.answered(too)
		o.now += askEvery
		last := o.post(4)
		o.request(PathAsk).reply(http.StatusOK, last.body)
		o.answered(last)
		o.quiet()
	})
}

// TestCloseEndsQuestion checks that a client's end does not wait for the answer to the question whether
// the other side takes groups.
func TestCloseEndsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOtherSide(t)
		first := o.post(1)
		_, a := o.request2()
		a.reply(http.StatusOK, first.body)
		o.answered(first)
		began := time.Now()
		if o.client.close(); time.Since(began) != 0 {
			t.Errorf("it took %v", time.Since(began))
		}
	})
}

// TestLogOfGroups checks that the log tells once that a side takes no groups and once that it does,
// and that the question leaves the place of a real failure in the log free.
func TestLogOfGroups(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		var log strings.Builder
		o.client.Log = slog.New(slog.NewTextHandler(&log, nil))
		for range 3 {
			m := o.post(1)
			question, a := o.request2()
			question.refuse(404)
			a.reply(http.StatusOK, m.body)
			o.answered(m)
			o.now += askEvery
		}
		o.able("256")
		group, a, b := o.group(5)
		group.refuse(500)
		o.lost(a, "500")
		o.lost(b, "500")
		var got []string
		for line := range strings.Lines(log.String()) {
			_, line, _ = strings.Cut(strings.TrimSpace(line), "msg=")
			got = append(got, line)
		}
		if want := []string{
			`"messages in groups" to=provider.example at_most=0`, `"messages in groups" to=provider.example at_most=256`,
			`"messages in groups" to=provider.example at_most=0`,
			`"no answer that can be relied on" from=provider.example error="answer 500 to a group: the group was refused"`,
		}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

// TestLongestAnswer checks that an answer of MaxBody bytes may come in a group.
func TestLongestAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		o.able("256")
		group, a, b := o.group(1)
		parts := group.parts()
		long := strings.Repeat("x", MaxBody)
		lines := append(group.line(parts[0], long), group.line(parts[1], b.body)...)
		group.answer <- group.response(http.StatusOK, bytes.NewReader(lines))
		o.answered(b)
		if a.got != long || a.err != nil {
			t.Errorf("%d bytes, %v", len(a.got), a.err)
		}
	})
}

// TestCloseEndsGroups checks that a client's end ends its groups, whose messages stay unknown.
func TestCloseEndsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOtherSide(t)
		o.able("256")
		_, a, b := o.group(1)
		o.slow = time.Second
		began := time.Now()
		o.client.close()
		if time.Since(began) < o.slow {
			t.Error("it did not wait for what was under way")
		}
		o.lost(a, "canceled")
		o.lost(b, "canceled")
	})
}

// TestRareTravelAlone checks that messages about something else than payments never wait for a group.
func TestRareTravelAlone(t *testing.T) {
	inBubble(t, func(_ *testing.T, o *otherSide) {
		o.able("256")
		first := o.post(1)
		alone := o.request(PathAsk)
		for _, path := range []string{PathRegister, PathDeregister, PathReturned, PathMovements, PathBook} {
			go func() { _, _, _ = o.client.post(o.t.Context(), path, Done{}, MaxBody) }()
			o.request(path).refuse(500)
		}
		alone.reply(http.StatusOK, first.body)
		o.answered(first)
	})
}

// TestLongTravelAlone checks that a message which is too long for a group is sent by itself, and is not
// held back.
func TestLongTravelAlone(t *testing.T) {
	inBubble(t, func(_ *testing.T, o *otherSide) {
		o.able("256")
		first := o.post(1)
		alone := o.request(PathAsk)
		for n, waits := range map[int]bool{MaxBody: true, MaxBody + 1: false} {
			ctx, end := context.WithCancel(o.t.Context())
			go func() { _, _, _ = o.client.groups.post(ctx, PathAsk, []byte(strings.Repeat("x", n))) }()
			if waits {
				o.quiet()
			} else {
				o.request(PathAsk).refuse(500)
			}
			end()
			synctest.Wait()
		}
		alone.reply(http.StatusOK, first.body)
		o.answered(first)
	})
}

// TestFailuresAreLoggedRarely checks that calls without an answer make one line in the log in tellEvery,
// and that a call which our side has cancelled makes none.
func TestFailuresAreLoggedRarely(t *testing.T) {
	inBubble(t, func(t *testing.T, o *otherSide) {
		var log strings.Builder
		o.client.Log = slog.New(slog.NewTextHandler(&log, nil))
		lines := func(want int) {
			t.Helper()
			if got := strings.Count(log.String(), "no answer that can be relied on"); got != want {
				t.Errorf("%d lines, want %d: %s", got, want, log.String())
			}
		}
		fail := func() {
			go func() { _, _, _ = o.client.post(t.Context(), PathBook, Done{}, MaxBody) }()
			o.request(PathBook).refuse(503)
			synctest.Wait()
		}
		ctx, end := context.WithCancel(t.Context())
		go func() { _, _, _ = o.client.post(ctx, PathBook, Done{}, MaxBody) }()
		o.request(PathBook)
		end()
		synctest.Wait()
		lines(0)
		fail()
		fail()
		o.now += tellEvery - 1
		fail()
		lines(1)
		o.now++
		fail()
		fail()
		lines(2)
	})
}
