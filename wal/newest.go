package wal

import "errors"

// Newest calls fn with the newest record of each stream, in ascending order of streams. Each
// record is verified with the checksum of the record before it. It reads two records of each
// stream and none of the others. A record that cannot be verified is a *Damage. Body is valid
// only during the call of fn. If fn returns an error, Newest returns the same error.
func (v *View) Newest(fn func(Record) error) error {
	if v.snap == nil {
		return ErrClosed
	}
	it, err := v.source().NewIter([]byte{recordPrefix}, []byte{recordPrefix + 1})
	if err != nil {
		return unreadable(0, 0, err)
	}
	err = newest(it, fn)
	if cerr := it.Close(); err == nil && cerr != nil {
		err = unreadable(0, 0, cerr)
	}
	return err
}

func newest(it iterator, fn func(Record) error) error {
	for ok := it.First(); ok; {
		stream, _, err := splitRecordKey(it.Key())
		if err != nil {
			return err
		}
		_, hi := RecordRange(stream)
		if !it.SeekLT(hi) {
			return unreadable(stream, 0, errors.Join(it.Error(), errors.New("its records cannot be found again")))
		}
		_, seq, err := splitRecordKey(it.Key())
		if err != nil {
			return err
		}
		r, err := recordAt(it, stream, seq)
		if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
		ok = it.SeekGE(hi)
	}
	if err := it.Error(); err != nil {
		return unreadable(0, 0, err)
	}
	return nil
}
