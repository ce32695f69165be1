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
	r := &records{from: v.source()}
	defer r.close()
	return r.newest(fn)
}

func (r *records) newest(fn func(Record) error) error {
	for from := Stream(0); ; from++ {
		stream, found, err := r.nextStream(from)
		if err != nil || !found {
			return err
		}
		found, err = r.last(stream)
		if err == nil && !found {
			err = unreadable(stream, 0, errors.New("its records cannot be found again"))
		}
		if err != nil {
			return err
		}
		of, err := r.must(stream, r.seq)
		if err == nil {
			err = fn(of)
		}
		if err != nil || stream == ^Stream(0) {
			return err
		}
		from = stream
	}
}
