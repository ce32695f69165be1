package etcdlog

import "testing"

// TestReadBesideEnd checks that a member which ends while it is read from fails the read alone, and that any other panic goes
// on.
func TestReadBesideEnd(t *testing.T) {
	reads := func(l *Log) (panicked any, err error) {
		defer func() { panicked = recover() }()
		func() {
			defer l.ended(&err)
			panic("a database that is closed")
		}()
		return nil, err
	}
	over := make(chan struct{})
	for name, l := range map[string]*Log{"a member that runs": {stopping: over}, "an etcd elsewhere": {}} {
		if panicked, err := reads(l); err != nil || panicked == nil {
			t.Errorf("%s: %v, panic %v", name, err, panicked)
		}
	}
	close(over)
	if panicked, err := reads(&Log{stopping: over}); err == nil || panicked != nil {
		t.Errorf("a member that ends: %v, panic %v", err, panicked)
	}
	if err := func() (err error) {
		defer (&Log{stopping: over}).ended(&err)
		return nil
	}(); err != nil {
		t.Error(err)
	}
}
