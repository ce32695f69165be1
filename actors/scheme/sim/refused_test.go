package sim

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/scheme"
)

// TestRefusalWaitsForNothing checks that the engine, whose journal's goroutine refuses a notice, does not wait until the
// payment is sent back, which reads rows; and that it is sent back.
func TestRefusalWaitsForNothing(t *testing.T) {
	s := openOn(t, vfs.NewMem(), nil)
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	notices := make(chan func(error), 1)
	if err := s.Start(func(_ scheme.Notice, done func(error)) { notices <- done }); err != nil {
		t.Fatal(err)
	}
	paid := make(chan error, 1)
	go func() {
		_, _, err := s.Pay(t.Context(), Payment{Key: shop.Value, Amount: 700})
		paid <- err
	}()
	done := <-notices
	s.order.Lock()
	told := make(chan struct{})
	go func() {
		done(scheme.ErrNoPayee)
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(5 * time.Second):
		t.Error("whoever refuses waits")
	}
	s.order.Unlock()
	<-told
	if err := <-paid; err != nil {
		t.Error(err)
	}
	if b, err := s.Book(t.Context()); err != nil || len(b.Accounts) != 1 || b.Accounts[0].Received != 0 {
		t.Errorf("%+v (%v)", b, err)
	}
}
