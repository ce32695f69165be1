package wal_test

import (
	"testing"

	"pixd/wal"
	"pixd/wal/waltest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// body adapts wal.Store to waltest.Journal.
type body struct{ *wal.Store }

func (b body) View() waltest.View { return b.Store.View() }

func TestContract(t *testing.T) {
	waltest.Contract(t, func() waltest.Journal {
		s, err := wal.Open(wal.Options{Dir: "/journal", FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return body{s}
	})
}

// inMemory adapts waltest.InMemory to waltest.Journal.
type inMemory struct{ *waltest.InMemory }

func (p inMemory) View() waltest.View { return p.InMemory.View() }

func TestContractInMemory(t *testing.T) {
	waltest.Contract(t, func() waltest.Journal { return inMemory{waltest.NewInMemory()} })
}
