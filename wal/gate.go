package wal

// Tell releases outs. Answers leave the process here, or by the writer where they are those of
// entries: readers call Tell once everything that they have read is durable. stream is the account
// that the outs are about; 0: the registry, or several accounts. After a failure nothing is
// released.
//
// Where several machines share the journal, Tell waits until this one is certain that it still owns
// it, and releases nothing if it does not.
func (s *Store) Tell(_ Stream, outs []Out) {
	if s.shared != nil && len(outs) > 0 && (s.shared.resigned.Load() || !s.certain()) {
		return
	}
	s.release(outs)
}

func (s *Store) release(outs []Out) {
	for _, out := range outs {
		if s.fail.set.Load() {
			return
		}
		out.Release(nil)
	}
}

// refuse releases the Outs of an entry of which nothing was written, with the error err.
func refuse(e *Entry, err error) {
	for _, out := range e.Out {
		out.Release(err)
	}
}

// Look calls read with a view, and returns once everything that the view may have shown of
// the stream is durable and Tell has been called; see Tell for stream. read must use nothing
// of other streams; with stream 0 it may use everything, and Look waits until everything that
// the view may have shown is durable. If read returns an error, Look returns the same error.
// If the store fails, Look returns that failure. If the store is closed meanwhile, Look
// returns ErrClosed.
func (s *Store) Look(stream Stream, read func(*View) error) error {
	v := s.View()
	if err := v.show(read); err != nil {
		return err
	}
	done := make(resultOut, 1)
	outs := []Out{done}
	if v.Ticket() > s.Durable() && (stream == 0 || !s.atRest(stream)) {
		s.Append(&Entry{Stream: stream, Out: outs})
	} else {
		s.Tell(stream, outs)
	}
	return s.await(done)
}

// Shared and Local say who needs rows that come without records: every copy of the journal, or
// only this machine. Every machine drops expired rows for itself, so a drop is local.
const (
	Shared = true
	Local  = false
)

// WriteRows writes rows that come without records, and returns once they are durable. If the
// store fails, it returns that failure; if the store is closed meanwhile, ErrClosed. shared is
// Shared or Local.
func (s *Store) WriteRows(shared bool, ops ...Op) error {
	done := make(resultOut, 1)
	s.Append(&Entry{Ops: ops, Shared: shared, Out: []Out{done}})
	return s.await(done)
}

// await returns an entry's result, or why it will have none.
func (s *Store) await(done resultOut) error {
	select {
	case err := <-done:
		return err
	case <-s.fail.done:
		return s.fail.cause()
	case <-s.stopped:
	}
	select {
	case err := <-done:
		return err
	case <-s.fail.done: // a store that fails stops as well
		return s.fail.cause()
	default:
		return ErrClosed
	}
}

// show calls read with the view and closes the view, also where read panics.
func (v *View) show(read func(*View) error) (err error) {
	defer func() {
		if closed := v.Close(); err == nil {
			err = closed
		}
	}()
	return read(v)
}

// resultOut is an Out that sends the result of its entry to a channel. Its entry has no
// records and is therefore never refused.
type resultOut chan error

// Release implements Out.
func (t resultOut) Release(err error) { t <- err }
