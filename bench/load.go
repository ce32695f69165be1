package bench

import (
	"context"
	"crypto/tls"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pixd/cmd/machine"
)

// Load sends requests to a server. Without a Rate it is a closed loop: every connection sends its
// next request when its previous request is answered. With a Rate it is an open loop: requests
// are due at fixed times, and a latency counts from the time at which the request was due, so
// that a stall of the server is not hidden by the requests that were not sent meanwhile.
type Load struct {
	Addr        string       // address of the server as host:port
	TLS         *tls.Config  // nil: plain TCP
	From        []netip.Addr // source addresses, which the connections take in turn; none: the system chooses
	Connections int          // number of connections; at a Rate, the most of them
	Duration    time.Duration
	Rate        int // requests per second; 0: as fast as they are answered
	Source      Source
	Expected    func(status int) bool // whether a request with this status counts as carried out; nil: where it is in 2xx

	// Second is called about once a second with what was measured since the call before; it may
	// complete that. nil: no seconds are recorded.
	Second func(*Second)
}

// Source makes the requests of a load and takes their answers. Its methods are called by many
// goroutines at once.
type Source interface {
	// Request appends the bytes of request i to b. The load asks for each i, from 0 on, once.
	// Appending nothing ends the connection that would have sent the request.
	Request(b []byte, i int) []byte
	// Answer takes the answer to request i; body is valid until Answer returns. The status is 0
	// where no whole answer came: then the client does not know whether the request was
	// carried out.
	Answer(i, status int, body []byte)
}

const (
	// firstConnections is how many connections an open loop begins with. Others follow where a
	// request is due and every connection still waits for an answer.
	firstConnections = 64
	// overdue is how late a connection must be for its request for another connection to be
	// opened: later than by a busy processor.
	overdue = 2 * time.Millisecond
	// lastSent is for how long after the end of an open loop requests are sent that were due
	// before it. Those that are still not sent then are errors.
	lastSent = 100 * time.Millisecond
	// lastAnswers is how long a load waits for answers after its last request.
	lastAnswers = 20 * time.Second
	// dialPause is how long a connection waits after it could not be opened.
	dialPause = 20 * time.Millisecond
)

// running is a load under way.
type running struct {
	Load
	*recorder
	begin, end time.Time
	next       atomic.Int64 // number of requests that were given out
	open       atomic.Int64 // number of connections
	over       atomic.Bool  // the source has no more requests
	ctx        context.Context
	cut        context.Context // ends when answers are no longer waited for
	wait       sync.WaitGroup
}

// Run sends requests until the duration is over, the context ends or the source has no more, and
// returns when all are answered or lastAnswers have passed.
func (l Load) Run(ctx context.Context) *Result {
	cut, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	r := &running{Load: l, recorder: newRecorder(), begin: time.Now(), ctx: ctx, cut: cut}
	r.end = r.begin.Add(l.Duration)
	first := l.Connections
	if l.Rate > 0 {
		first = min(first, firstConnections)
	}
	cpu := machine.CPUTime()
	for range first {
		r.connect()
	}
	if l.Rate > 0 {
		r.wait.Go(r.grow)
	}
	finished := make(chan struct{})
	seconds := make(chan struct{})
	go func() { defer close(seconds); r.tick(finished) }()
	go func() {
		select {
		case <-finished:
			return
		case <-ctx.Done():
		case <-time.After(l.Duration):
		}
		select {
		case <-finished:
		case <-time.After(lastAnswers):
			end()
		}
	}()
	r.wait.Wait()
	close(finished)
	<-seconds
	r.unsent()
	return r.result(time.Since(r.begin), int(r.open.Load()), machine.CPUTime()-cpu)
}

// notSent is the kind of error of a request that was due while every connection waited for an
// answer, until the load ended.
const notSent = "not sent"

// unsent counts the requests of an open loop that were due and not sent.
func (r *running) unsent() {
	if r.Rate == 0 || r.ctx.Err() != nil || r.over.Load() {
		return
	}
	due := int((int64(r.Duration)*int64(r.Rate) + int64(time.Second) - 1) / int64(time.Second))
	if n := due - r.total.sent; n > 0 {
		r.total.sent += n
		r.total.errors[notSent] += n
	}
}

// connect adds a connection, unless there are enough.
func (r *running) connect() {
	n := r.open.Add(1)
	if n > int64(r.Connections) {
		r.open.Add(-1)
		return
	}
	r.wait.Go(func() { r.connection(int(n - 1)) })
}

// growEvery is how often grow looks.
const growEvery = 10 * time.Millisecond

// grow adds a connection for each request that is overdue while every connection waits for an
// answer: then none of them can see that it is (see due).
func (r *running) grow() {
	all := int64(math.Ceil(r.Duration.Seconds() * float64(r.Rate)))
	for !r.over.Load() && r.next.Load() < all && time.Since(r.end) < lastSent && r.sleep(growEvery) {
		due := min(all, int64((time.Since(r.begin)-overdue).Seconds()*float64(r.Rate)))
		for n := due - r.next.Load(); n > 0 && r.open.Load() < int64(r.Connections); n-- {
			r.connect()
		}
	}
}

// due waits until the next request is due. It returns its number and that time; false: the load
// is over. In a closed loop the next request is due now.
func (r *running) due() (i int, at time.Time, more bool) {
	if r.ctx.Err() != nil || r.over.Load() {
		return 0, at, false
	}
	if r.Rate == 0 {
		at = time.Now()
		return int(r.next.Add(1) - 1), at, at.Before(r.end)
	}
	if time.Since(r.end) > lastSent {
		return 0, at, false
	}
	i = int(r.next.Add(1) - 1)
	at = r.begin.Add(time.Duration(i) * time.Second / time.Duration(r.Rate))
	if !at.Before(r.end) {
		return 0, at, false
	}
	switch early := time.Until(at); {
	case early > 0:
		return i, at, r.rest(early)
	case early < -overdue && r.open.Load() < int64(r.Connections):
		r.connect()
	}
	return i, at, true
}

// exactRate is the largest rate at which requests are waited for exactly: at higher rates the
// system's sleeps would take too much of the processor.
const exactRate = 2000

// rest waits until a request is due. It returns false if the load was ended meanwhile.
func (r *running) rest(early time.Duration) bool {
	if r.Rate > exactRate || early >= time.Second {
		return r.sleep(early)
	}
	sleepExactly(early)
	return r.ctx.Err() == nil
}

// timerLate is how late a timer of Go may be, and a little more. While the process is idle, the
// runtime waits for events in whole milliseconds.
const timerLate = 1100 * time.Microsecond

// sleepExactly returns after d, at most some 0.1 ms late: the end of the wait is a sleep of the
// system. Requests at 1,500/s are 0.07 ms late so, and 0.38 ms with time.Sleep alone.
func sleepExactly(d time.Duration) {
	end := time.Now().Add(d)
	time.Sleep(d - timerLate)
	for left := time.Until(end); left > 0; left = time.Until(end) { // a signal ends a sleep early
		rest := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&rest, nil)
	}
}

// sleep returns false if the load was ended meanwhile.
func (r *running) sleep(d time.Duration) bool {
	if d < time.Second {
		time.Sleep(d)
		return r.ctx.Err() == nil
	}
	select {
	case <-r.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// connection sends requests, one after the other, until the load is over.
func (r *running) connection(n int) {
	c := &client{load: &r.Load, number: n, cut: r.cut}
	defer c.close()
	shard := &r.shards[n%len(r.shards)]
	var request []byte
	for {
		i, at, more := r.due()
		if !more {
			return
		}
		if request = r.Source.Request(request[:0], i); len(request) == 0 {
			r.over.Store(true)
			return
		}
		sent := time.Now()
		status, body, err := c.exchange(request)
		answered := time.Now()
		r.Source.Answer(i, status, body)
		shard.take(status, err, r.expects(status), answered.Sub(at), answered.Sub(sent))
		if c.conn == nil && err != nil && !r.sleep(dialPause) {
			return
		}
	}
}

func (l *Load) expects(status int) bool {
	if l.Expected != nil {
		return l.Expected(status)
	}
	return status/100 == 2
}

// tick calls Second about once a second until the load has ended, and once more then.
func (r *running) tick(finished <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	last, cpu := r.begin, machine.CPUTime()
	for ended := false; !ended; {
		select {
		case <-finished:
			ended = true
		case <-ticker.C:
		}
		now, used := time.Now(), machine.CPUTime()
		s := r.turn()
		s.At, s.Seconds = now.Sub(r.begin).Seconds(), now.Sub(last).Seconds()
		s.Generator = (used - cpu).Seconds() / s.Seconds
		last, cpu = now, used
		if r.Second != nil {
			r.Second(s)
			r.series = append(r.series, *s)
		}
	}
}
