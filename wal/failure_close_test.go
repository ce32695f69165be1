package wal

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCloseUnderCall gives up a call into Pebble because the store has failed. Pebble must stay open under
// that call, and the reason for the failure is returned once.
func TestCloseUnderCall(t *testing.T) {
	db, err := pebble.Open("store", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	f, broken := newFailure(), errors.New("a table cannot be read")
	entered, release, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		<-entered
		f.fail(broken)
	}()
	err = f.guard(func() (err error) {
		close(entered)
		<-release
		defer func() {
			if r := recover(); r != nil {
				err = errors.New("pebble was closed under the call")
			}
			read <- err
		}()
		_, _, err = db.Get([]byte("absent"))
		return err
	})
	if got := f.close(db, err); !errors.Is(got, broken) || got.Error() != broken.Error() {
		t.Errorf("close returned %v, want %v", got, broken)
	}
	if got := f.close(db, nil); !errors.Is(got, broken) {
		t.Errorf("close after a call without an error returned %v, want %v", got, broken)
	}
	close(release)
	if err := <-read; !errors.Is(err, pebble.ErrNotFound) {
		t.Errorf("the call that was given up got %v, want %v", err, pebble.ErrNotFound)
	}
	if err := newFailure().close(db, nil); err != nil {
		t.Errorf("close where nothing failed returned %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("pebble is open where nothing failed")
		}
	}()
	_, _, _ = db.Get([]byte("absent"))
}
