package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Load is a closed loop: every connection sends its next request when its previous request
// is answered. With a Rate it is an open loop: requests are due at fixed times, and a latency
// counts from the time at which the request was due, so that a stall is not hidden.
type Load struct {
	Addr        string // address of the engine as host:port
	Connections int
	Duration    time.Duration
	Rate        int // requests per second; 0: as fast as they are answered
	// Next returns the bytes of the next request of a connection; nil closes the
	// connection.
	Next func(connection int) []byte
}

// Result has the figures of one load.
type Result struct {
	Done      int           // number of answers
	Status    map[int]int   // number of answers by HTTP status
	Elapsed   time.Duration // from the first request to the last answer
	Latencies []time.Duration
}

// PerSecond returns the number of answers per second.
func (r *Result) PerSecond() float64 { return float64(r.Done) / r.Elapsed.Seconds() }

// Quantile returns the latency that a share q (0 to 1) of the answers did not exceed.
func (r *Result) Quantile(q float64) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	return r.Latencies[min(len(r.Latencies)-1, int(q*float64(len(r.Latencies))))]
}

// Run sends requests until the duration is over or every connection was closed by Next.
func (l Load) Run() (*Result, error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	total := &Result{Status: map[int]int{}}
	var failed error
	begin := time.Now()
	p := &plan{rate: l.Rate, begin: begin, end: begin.Add(l.Duration)}
	for c := range l.Connections {
		wait.Add(1)
		go func() {
			defer wait.Done()
			r, err := l.connection(c, p)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			total.Done += r.Done
			total.Latencies = append(total.Latencies, r.Latencies...)
			for s, n := range r.Status {
				total.Status[s] += n
			}
		}()
	}
	wait.Wait()
	total.Elapsed = time.Since(begin)
	slices.Sort(total.Latencies)
	return total, failed
}

// plan says when requests are due.
type plan struct {
	rate       int
	begin, end time.Time
	next       atomic.Int64 // number of requests that were given out
}

// due waits until the next request is due and returns that time; false: the load is over. In a
// closed loop it is due now.
func (p *plan) due() (time.Time, bool) {
	at := time.Now()
	if p.rate > 0 {
		at = p.begin.Add(time.Duration(p.next.Add(1)-1) * time.Second / time.Duration(p.rate))
		time.Sleep(time.Until(at))
	}
	return at, at.Before(p.end)
}

func (l Load) connection(c int, p *plan) (*Result, error) {
	r := &Result{Status: map[int]int{}}
	conn, err := net.Dial("tcp", l.Addr)
	if err != nil {
		return r, fmt.Errorf("bench: connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 16<<10)
	for {
		start, more := p.due()
		if !more {
			return r, nil
		}
		request := l.Next(c)
		if request == nil {
			return r, nil
		}
		if _, err := conn.Write(request); err != nil {
			return r, fmt.Errorf("bench: send: %w", err)
		}
		status, err := readAnswer(in)
		if err != nil {
			return r, fmt.Errorf("bench: receive: %w", err)
		}
		r.Done++
		r.Status[status]++
		r.Latencies = append(r.Latencies, time.Since(start))
	}
}

// readAnswer reads one HTTP/1.1 answer with a Content-Length and returns its status.
func readAnswer(in *bufio.Reader) (status int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := 0
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(v)); err != nil {
				return 0, err
			}
		}
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return status, err
}
