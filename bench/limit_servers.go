package bench

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/httpapi"
	"pixd/wal"
)

// checks serves the merchant API of an engine whose accounts do nothing: a request passes the
// checks 1 to 6, and is answered with a text of an answer's length.
func (o *playFlags) checks(b engine.Build) error {
	s, err := engine.Serve(o.config(), b)
	if err != nil {
		return err
	}
	h := httpapi.New(httpapi.Options{
		Engine: idle{}, Registry: s.Registry, History: s.History, ISPB: s.Config.ISPB, RateLimit: s.Config.RateLimit,
		FailedAuthLimit: s.Config.FailedAuthLimit, Now: s.Clock.Now, Log: s.Config.Log,
	})
	l, err := listenLocal()
	if err != nil {
		return err
	}
	server := httpapi.NewServer(h, httpapi.ServerOptions{Name: "checks", Log: s.Config.Log})
	limited := httpapi.Limit(l, httpapi.ConnectionOptions{Refused: func(int) {}, Log: s.Config.Log})
	go func() { _ = server.Serve(limited) }()
	fmt.Println(l.Addr(), s.AdminAddr)
	return attend(s)
}

// idle is an engine that answers everything with the same text.
type idle struct{}

// idleAnswer is as long as the answer to a cash-out.
var idleAnswer = &ledger.Stored{Code: fasthttp.StatusOK, Body: make([]byte, 300)}

// Do implements httpapi.Engine.
func (idle) Do(pix.AccountID, ledger.Command) (ledger.Answer, error) {
	return ledger.Answer{Stored: idleAnswer}, nil
}

// journalStreams is the number of streams of the journal role: as many as a load has accounts.
const journalStreams = 1000

// What a cash-out writes, in three entries: 12 keys and some 1,040 bytes. The first two are waited
// for, as a request waits for its hold and for its acceptance; the settlement comes later.
var cashOutEntries = []struct {
	sets, deletes int
	waited        bool
}{{sets: 2, waited: true}, {sets: 3, waited: true}, {sets: 2, deletes: 2}}

// The bytes of a record and of a row's value in a cash-out.
const (
	recordBytes = 110
	rowBytes    = 70
)

// journal answers each request once the journal has what a cash-out writes.
func (o *playFlags) journal() error {
	w := wal.Options{Dir: filepath.Join(o.dir, "journal"), Log: quiet(), OnFailure: failStop}
	if o.sync > 0 {
		w.FS = o.slowSync()
	}
	store, err := wal.Open(w)
	if err != nil {
		return err
	}
	j := &journaling{store: store, streams: make([]journalStream, journalStreams)}
	err = serveUntilOrphaned(func(ctx *fasthttp.RequestCtx) {
		if err := j.cashOut(); err != nil {
			ctx.SetStatusCode(fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetBody(ctx.PostBody())
	})
	time.Sleep(time.Second) // the entries that nobody waits for
	if closed := store.Close(); err == nil {
		err = closed
	}
	return err
}

// journaling writes entries of made-up bytes.
type journaling struct {
	store   *wal.Store
	streams []journalStream
	next    atomic.Uint64
}

type journalStream struct {
	mu       sync.Mutex
	seq, sum uint64
}

// durable is an Out that waits for an entry.
type durable chan error

// Release implements wal.Out.
func (d durable) Release(err error) { d <- err }

// unwaited is the Out of an entry that nobody waits for.
type unwaited struct{}

// Release implements wal.Out.
func (unwaited) Release(error) {}

func (j *journaling) cashOut() error {
	n := j.next.Add(1)
	done := make(durable, 1)
	for i := range cashOutEntries {
		e := &cashOutEntries[i]
		var out wal.Out = unwaited{}
		if e.waited {
			out = done
		}
		j.append(n, i, e.sets, e.deletes, out)
		if e.waited {
			if err := <-done; err != nil {
				return err
			}
		}
	}
	return nil
}

// append writes one record, some rows, and removes rows of the entries before.
func (j *journaling) append(n uint64, part, sets, deletes int, out wal.Out) {
	key := func(i int) []byte { return binary.BigEndian.AppendUint64([]byte{'x', byte(i)}, n) }
	e := &wal.Entry{Out: []wal.Out{out}}
	for i := range sets {
		e.Ops = append(e.Ops, wal.Op{Kind: wal.OpSet, Key: key(10*part + i), Value: make([]byte, rowBytes)})
	}
	for i := range deletes {
		e.Ops = append(e.Ops, wal.Op{Kind: wal.OpDelete, Key: key(10*i + 1)})
	}
	at := n % uint64(len(j.streams))
	s := &j.streams[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Stream, e.Expect = wal.Stream(at+1), s.seq
	sealed := wal.Seal(s.sum, wal.Record{Stream: e.Stream, Seq: s.seq + 1, Kind: 1, Time: time.Now().UnixMilli(), Body: make([]byte, recordBytes)})
	s.seq, s.sum = s.seq+1, sealed.Sum
	e.Records = []wal.Sealed{sealed}
	j.store.Append(e)
}
