package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"pixd/bench"
)

// outputs are the files that a report is written to. They are opened before the load, so that it
// is not made in vain.
type outputs struct{ json, html *os.File }

func openOutputs(json, html string) (o outputs, err error) {
	for _, f := range []struct {
		name, path string
		to         **os.File
	}{{"json", json, &o.json}, {"html", html, &o.html}} {
		if f.path == "" {
			continue
		}
		if *f.to, err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o644); err != nil { //nolint:gosec // a report has no secret
			return o, errors.Join(fmt.Errorf("--%s: %w", f.name, err), o.drop())
		}
	}
	return o, nil
}

// drop closes the files. Those that are still empty are removed.
func (o *outputs) drop() (err error) {
	for _, f := range []*os.File{o.json, o.html} {
		if f == nil {
			continue
		}
		if i, failed := f.Stat(); failed == nil && i.Mode().IsRegular() && i.Size() == 0 {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		err = errors.Join(err, f.Close())
	}
	return err
}

// write writes the report to the files.
func (o *outputs) write(r *bench.Report) error {
	return errors.Join(fill(o.json, r.WriteJSON), fill(o.html, r.WritePage))
}

// fill replaces what is in a file.
func fill(f *os.File, write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	if i, err := f.Stat(); err == nil && i.Mode().IsRegular() {
		if err := f.Truncate(0); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(write(f), f.Close())
}
