package wal

// Tell is the one gate: whatever the journal has decided or shows leaves through it. The
// writer brings the Outs of entries that are durable, a reader those of what it read once
// that is. stream is the account that they are about; 0: the registry, or several. After
// a failure nothing is released.
//
// Where several machines share a journal, one that no longer owns the stream is cut here.
func (s *Store) Tell(_ Stream, outs []Out) {
	for _, out := range outs {
		if s.fail.set.Load() {
			return
		}
		out.Release(nil)
	}
}

// refuse releases the Outs of an entry of which nothing was written.
func refuse(e *Entry, err error) {
	for _, out := range e.Out {
		out.Release(err)
	}
}

// Look reads over one view and returns once what the view may have shown is durable and
// may be told; stream as in Tell. An error of read is returned as it is. After a failure
// it returns that failure, and ErrClosed where the store was closed meanwhile.
func (s *Store) Look(stream Stream, read func(*View) error) error {
	v := s.View()
	err := read(v)
	if closed := v.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	done := make(told, 1)
	outs := []Out{done}
	if v.Ticket() > s.Durable() {
		s.Append(&Entry{Stream: stream, Out: outs})
	} else {
		s.Tell(stream, outs)
	}
	select {
	case <-done:
		return nil
	case <-s.fail.done:
		return s.fail.cause()
	case <-s.stopped:
	}
	select {
	case <-done:
		return nil
	default:
		return ErrClosed
	}
}

// told is who waits for the gate. What it waits for has no records, and is not refused.
type told chan error

// Release implements Out.
func (t told) Release(err error) { t <- err }
