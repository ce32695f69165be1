package wal

// Tell releases outs. It is the one gate through which answers leave: the writer calls it
// for entries that are durable, and readers call it once everything that they have read
// is durable. stream is the account that the outs are about; 0: the registry, or several
// accounts. After a failure nothing is released.
//
// Where several machines share a journal, this is the place to stop a machine that no
// longer owns the stream.
func (s *Store) Tell(_ Stream, outs []Out) {
	for _, out := range outs {
		if s.fail.set.Load() {
			return
		}
		out.Release(nil)
	}
}

// refuse releases, with err, the Outs of an entry of which nothing was written.
func refuse(e *Entry, err error) {
	for _, out := range e.Out {
		out.Release(err)
	}
}

// Look calls read with a view, and returns once everything that the view may have shown
// is durable and has passed the gate; see Tell for stream. It returns an error of read as
// it is, the store's failure after one, and ErrClosed where the store was closed
// meanwhile.
func (s *Store) Look(stream Stream, read func(*View) error) error {
	v := s.View()
	err := read(v)
	if closed := v.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	done := make(passed, 1)
	outs := []Out{done}
	if v.Ticket() > s.Durable() {
		s.Append(&Entry{Stream: stream, Out: outs})
	} else {
		s.Tell(stream, outs)
	}
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
	default:
		return ErrClosed
	}
}

// passed receives once its entry has passed the gate. An entry without records is never
// refused.
type passed chan error

// Release implements Out.
func (t passed) Release(err error) { t <- err }
