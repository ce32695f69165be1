package forward

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
)

// TestPlaces checks that a request waits for a place, and for no longer than its patience.
func TestPlaces(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	p, err := newPool("o", "http://"+o.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.places = fair.New[uint64](fair.Bounds{Places: 1, Share: 1, Queue: 9})
	l, err := p.get(1, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(1, time.Now().Add(20*time.Millisecond)); !errors.Is(err, errNoPlace) {
		t.Errorf("a second place: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { p.put(l) })
	again, err := p.get(1, time.Now().Add(time.Minute))
	if err != nil || again != l {
		t.Errorf("the same connection was not used again: %v", err)
	}
	p.retire(0, 0)
	if _, err := again.Read(make([]byte, 1)); err == nil {
		t.Error("a retired connection can be read")
	}
	p.drop(again)
	if _, err := p.get(1, time.Now().Add(time.Minute)); !errors.Is(err, errOver) || p.places.Counts().InUse != 0 {
		t.Errorf("a retired pool gave a connection: %v", err)
	}
}

// TestConnectionsShared checks that requests with the same credentials have their share of the connections and no more,
// while others get theirs.
func TestConnectionsShared(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan string, 2*connShare), make(chan struct{})
	o := newOwner(t, "", nil, func(ctx *fasthttp.RequestCtx) {
		arrived <- string(ctx.Request.Header.Peek("Authorization"))
		<-goOn
	})
	f := New(Options{Owner: o.at("http"), Patience: time.Minute, Log: silent()})
	defer f.Close()
	var all sync.WaitGroup
	sends := func(who string) {
		all.Go(func() {
			var r fasthttp.Request
			if err := r.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: o\r\nAuthorization: " + who + "\r\n\r\n"))); err != nil {
				t.Error(err)
			}
			var ctx fasthttp.RequestCtx
			ctx.Init(&r, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, nil)
			r.CopyTo(&ctx.Request)
			if f.Handler(Merchant)(&ctx); ctx.Response.StatusCode() != fasthttp.StatusOK {
				t.Errorf("%s: %d", who, ctx.Response.StatusCode())
			}
		})
	}
	of := map[string]int{}
	take := func() {
		select {
		case who := <-arrived:
			of[who]++
		case <-time.After(20 * time.Second):
			t.Fatalf("arrived are %v", of)
		}
	}
	for range connShare + 5 {
		sends("a")
	}
	for range connShare {
		take()
	}
	sends("b")
	if take(); of["a"] != connShare || of["b"] != 1 {
		t.Errorf("arrived are %v", of)
	}
	waitFor(t, func() bool { n := f.owner.places.Counts(); return n.InUse == connShare+1 && n.Waiting == 5 })
	close(goOn)
	all.Wait()
	if n := f.owner.places.Counts(); n.InUse != 0 || n.Waiting != 0 {
		t.Errorf("afterwards %+v", n)
	}
}

// TestDialsInTurn has many requests at once need a connection to an owner that greets one after the other.
// So many that each would wait for longer than a greeting may take get theirs all the same.
func TestDialsInTurn(t *testing.T) {
	t.Parallel()
	address := greetsInTurn(t, greetFor/50)
	p, err := newPool("o", "http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	const requests = 120
	until, got := time.Now().Add(time.Minute), make(chan error, requests)
	for range requests {
		go func() {
			l, err := p.get(1, until)
			for errors.Is(err, errNoPlace) { // as an attempt does
				l, err = p.get(1, until)
			}
			if err == nil {
				defer p.put(l)
				time.Sleep(4 * greetFor) // nobody is given this one meanwhile
			}
			got <- err
		}()
	}
	for range requests {
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	}
}

// greetsInTurn is an owner that takes so long for each greeting, one after the other.
func greetsInTurn(t *testing.T, long time.Duration) (address string) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var turn sync.Mutex
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				in := bufio.NewReader(c)
				for {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					turn.Lock()
					time.Sleep(long)
					turn.Unlock()
					_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestRetiredWhileWaiting checks that a request which waits for its turn to connect learns at once that the
// owner is another.
func TestRetiredWhileWaiting(t *testing.T) {
	p, err := newPool("o", "http://127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range maxDials {
		p.dials <- struct{}{}
	}
	time.AfterFunc(20*time.Millisecond, func() { p.retire(0, 0) })
	began := time.Now()
	if _, err := p.get(1, began.Add(time.Minute)); !errors.Is(err, errOver) || time.Since(began) >= greetFor {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// TestIdleClosed checks that connections are closed when they were idle for long.
func TestIdleClosed(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	p, err := newPool("o", "http://"+o.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.get(1, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	p.put(l)
	p.mu.Lock()
	l.since = l.since.Add(-idleFor)
	p.mu.Unlock()
	if l.usable(time.Now().Add(time.Minute)) {
		t.Error("a connection is used that was idle for long")
	}
	p.reap()
	if len(p.idle) != 0 || p.reaping {
		t.Errorf("%d connections are still idle", len(p.idle))
	}
	waitFor(t, func() bool { return o.Open() == 0 })
}

// TestFailClosesIdle checks that a connection which fails takes the idle ones with it.
func TestFailClosesIdle(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	p, err := newPool("o", "http://"+o.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	var both [2]*link
	for i := range both {
		if both[i], err = p.get(1, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	p.put(both[0])
	p.fail(both[1])
	waitFor(t, func() bool { return o.Open() == 0 })
	if p.places.Counts().InUse != 0 {
		t.Errorf("%d places are taken", p.places.Counts().InUse)
	}
}

// TestClientCloses checks that a client which closes its connection leaves that to the owner open.
func TestClientCloses(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	n := newNode(t, Options{Owner: o.at("http")})
	for range 3 {
		if got, closed := say(t, n.address, last); !closed || !strings.Contains(got, "\r\nConnection: close\r\n") {
			t.Errorf("answered %q, closed %v", got, closed)
		}
		n.Forwarder.owner.mu.Lock()
		if len(n.Forwarder.owner.idle) != 1 {
			t.Errorf("%d idle connections", len(n.Forwarder.owner.idle))
		}
		n.Forwarder.owner.mu.Unlock()
	}
}

// TestOwnerChanges checks that the idle connections to an earlier owner are closed, and that what it
// still answers is passed on.
func TestOwnerChanges(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	slow := newOwner(t, "", nil, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			close(begun)
			<-end
		}
		ctx.SetBodyString("slow")
	})
	fast := newOwner(t, "", nil, echo)
	owners := make(chan *owner, 1)
	owners <- slow
	n := newNode(t, Options{Owner: func() (string, string, bool) {
		o := <-owners
		owners <- o
		return "same name", "http://" + o.address, true
	}})
	answer := make(chan string)
	go func() {
		_, body := ask(t, n.address, "/slow")
		answer <- body
	}()
	<-begun
	ask(t, n.address, "/") // leaves an idle connection
	if slow.Open() != 2 {
		t.Errorf("%d connections are open", slow.Open())
	}
	<-owners
	owners <- fast
	if _, body := ask(t, n.address, "/"); !strings.HasPrefix(body, "GET|/|") {
		t.Errorf("the new owner's answer: %q", body)
	}
	waitFor(t, func() bool { return slow.Open() == 1 })
	close(end)
	if body := <-answer; body != "slow" {
		t.Errorf("the earlier owner's answer: %q", body)
	}
	waitFor(t, func() bool { return slow.Open() == 0 })
}

// TestSilentCut checks that of a retired pool's connections those are closed first on which no answer
// has begun.
func TestSilentCut(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	p, err := newPool("o", "http://"+o.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	var links []*link
	for range 2 {
		l, err := p.get(1, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	links[1].answers.Store(true)
	p.retire(time.Millisecond, time.Hour)
	if _, err := links[0].Read(make([]byte, 1)); err == nil {
		t.Error("a silent connection can be read")
	}
	if !quiet(links[1].under) {
		t.Error("a connection was closed on which an answer has begun")
	}
	p.drop(links[0])
	p.drop(links[1])
}

// TestWaitsForOneThatComesBack checks that who waits to open a connection, because as many as may be are
// being opened, takes one that comes back before.
func TestWaitsForOneThatComesBack(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	p, err := newPool("o", "http://"+o.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.retire(0, 0)
	until := time.Now().Add(10 * time.Second)
	first, err := p.get(1, until)
	if err != nil {
		t.Fatal(err)
	}
	for range maxDials {
		p.dials <- struct{}{}
	}
	got := make(chan *link, 1)
	began := time.Now()
	go func() {
		l, _ := p.get(1, until)
		got <- l
	}()
	time.Sleep(20 * time.Millisecond) // it waits by now
	p.put(first)
	if l := <-got; l != first || time.Since(began) > greetFor/2 {
		t.Errorf("got %p after %v, not %p", l, time.Since(began), first)
	}
	p.put(first)
	for range maxDials {
		<-p.dials
	}
	// Whoever finds one at rest although there is a place to open another gives that place back.
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for range maxDials {
		p.dials <- struct{}{}
	}
	go func() {
		l, _ := p.get(1, until)
		got <- l
	}()
	time.Sleep(20 * time.Millisecond)
	p.mu.Lock()
	p.idle = idle
	p.mu.Unlock()
	<-p.dials
	if l := <-got; l != first || len(p.dials) != maxDials-1 || p.places.Counts().InUse != 1 {
		t.Errorf("got %p, %d dials and %d places taken", l, len(p.dials), p.places.Counts().InUse)
	}
}
