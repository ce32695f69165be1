package account

import (
	"errors"
	"sync"
	"time"

	"pixd/actors/pix"
	"pixd/wal"
)

// closePatience is how long, by default, Close waits for accounts and child actors to
// finish their work.
const closePatience = 10 * time.Second

// errRestless says that, when Close gave up waiting, an account or a child actor was still
// reading or writing.
var errRestless = errors.New("account: accounts or their child actors do not come to rest")

// Close cancels the child actors' calls to the scheme and waits for accounts and child
// actors to finish; the next start of the engine resumes what these child actors carried.
// It has the head rows of the accounts in memory written, so that no read after the next start
// replays records. When Close returns nil, no account and no child actor reads or writes any
// more, and the journal and the store may be closed, which writes what Close has appended.
func (d *Host) Close() error {
	d.stop()
	d.children.endReports()
	timeout := time.NewTimer(d.limits.ClosePatience)
	defer timeout.Stop()
	var heads sync.WaitGroup
	last := append(d.closeAccounts(&heads), d.children.over())
	defer d.workers.close()
	defer d.system.Shutdown()
	for _, done := range last {
		select {
		case <-done:
		case <-timeout.C:
			return errRestless
		}
	}
	select {
	case <-d.appended(&heads):
		return nil
	case <-timeout.C:
		return errRestless
	}
}

// appended returns a channel that is closed once the head rows that wait for earlier entries are
// appended, or the store has failed.
func (d *Host) appended(heads *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Head rows wait for what Look waits for, and a store that fails releases nothing.
		if d.look == nil || d.look(0, func(*wal.View) error { return nil }) == nil {
			heads.Wait()
		}
	}()
	return done
}

// closeAccounts sends a closing message to every account in memory. It returns one channel
// for each account, which is closed once the account has handled all earlier messages. heads
// counts the accounts whose head row is not appended yet.
func (d *Host) closeAccounts(heads *sync.WaitGroup) (last []<-chan struct{}) {
	d.entries.Each(func(_ pix.AccountID, e *entry) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.pid != nil {
			done := make(chan struct{})
			d.root.Send(e.pid, &closing{done, heads})
			last = append(last, done)
		}
		return true
	})
	return last
}

// keepHead has the account's head row written at the end, where there are records after the
// newest one. It does not wait: the head rows of all accounts share syncs.
func (s *Shell) keepHead(heads *sync.WaitGroup) {
	if s.broken != nil || s.machine == nil || s.machine.headKept() {
		return
	}
	e := s.machine.Passivate()
	heads.Add(1)
	s.Journal.Append(&wal.Entry{Stream: e.Stream, Out: []wal.Out{&dependent{&lastHead{s.Journal, &e, heads}, s, s.seen}}})
}

// lastHead appends the entry with a head row once all earlier entries of the account are durable.
// If one of them was refused, the head includes a record that was never written, and the row is
// dropped.
type lastHead struct {
	journal Journal
	entry   *wal.Entry
	heads   *sync.WaitGroup
}

// Release implements wal.Out.
func (o *lastHead) Release(err error) {
	defer o.heads.Done()
	if err == nil {
		o.journal.Append(o.entry)
	}
}
