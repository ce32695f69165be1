package sim

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestReturnsAtOnce checks that returns made at once never exceed the payout's amount.
func TestReturnsAtOnce(t *testing.T) {
	s := openOn(t, vfs.NewMem(), nil)
	p := payoutAt(now())
	p.Key.Value = "settle-now@pix.test"
	if _, err := s.Submit(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	var good atomic.Int64
	for range 20 {
		work.Go(func() {
			_, err := s.ReturnPayout(t.Context(), PayoutReturn{EndToEnd: p.EndToEnd, Amount: 30})
			if err == nil {
				good.Add(1)
			} else if !errors.Is(err, ErrBeyond) {
				t.Error(err)
			}
		})
	}
	work.Wait()
	k, err := s.Know(t.Context(), p.EndToEnd)
	if err != nil || good.Load() != 3 || len(k.Returns) != 3 || k.Returns[2].Amount != 30 {
		t.Errorf("%d returns, %+v %v", good.Load(), k, err)
	}
	if _, err := s.ReturnPayout(t.Context(), PayoutReturn{EndToEnd: p.EndToEnd}); err != nil {
		t.Errorf("the rest: %v", err)
	}
	if b, err := s.Book(t.Context()); err != nil || b.Accounts[0].Sums != (scheme.Sums{Sent: 100, ReturnedTo: 100}) {
		t.Errorf("%+v %v", b, err)
	}
}

// TestReturnedByScript checks that nothing of a payout can be returned from its settlement on
// if the script of its key returns the whole payout.
func TestReturnedByScript(t *testing.T) {
	at := goldenNoon
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.Now = func() pix.Millis { return at } })
	p := payoutAt(at)
	p.Key.Value = "returned+1@pix.test"
	if _, err := s.Submit(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after   pix.Millis
		want    error
		returns int
	}{{0, ErrNotSettled, 0}, {30, ErrNothingLeft, 0}, {30, ErrNothingLeft, 1}} {
		at += c.after
		_, err := s.ReturnPayout(t.Context(), PayoutReturn{EndToEnd: p.EndToEnd})
		k, know := s.Know(t.Context(), p.EndToEnd)
		if !errors.Is(err, c.want) || know != nil || len(k.Returns) != c.returns {
			t.Errorf("after %d ms: %v, %+v %v", at-goldenNoon, err, k, know)
		}
	}
}

// TestBookUnderWork checks that the book's sums only grow and stay balanced while payments
// settle and are added up.
func TestBookUnderWork(t *testing.T) {
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.SettleDelay = 3 * time.Millisecond })
	if err := s.Start(func(_ scheme.Notice, done func(error)) { done(nil) }); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	const workers, each = 8, 150
	for n := range workers {
		work.Go(func() {
			for range each {
				p := payoutAt(now())
				p.Account = pix.AccountID(1 + n%3)
				if _, err := s.Submit(t.Context(), p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() { work.Wait(); time.Sleep(10 * time.Millisecond); close(finished) }()
	var last pix.Amount
	for n := 0; ; n++ {
		end := false
		select {
		case <-finished:
			end = true
		default:
		}
		b, err := s.Book(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sent, accounts, received pix.Amount
		for _, p := range b.Participants {
			sent, received = sent+p.Sent, received+p.Received
		}
		for _, a := range b.Accounts {
			accounts += a.Sent
		}
		if sent != received || sent != accounts || sent < last {
			t.Fatalf("sent %d, received %d, by accounts %d, was %d", sent, received, accounts, last)
		}
		if last = sent; end {
			break
		}
		if n%5 == 0 {
			if err := s.addUp(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if last != workers*each*100 {
		t.Errorf("sent %d, want %d", last, workers*each*100)
	}
}

// TestAddsUpByItself checks that movements are added up even if the book is never read.
func TestAddsUpByItself(t *testing.T) {
	at := goldenNoon
	var clock atomic.Int64
	clock.Store(int64(at))
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.Now = func() pix.Millis { return pix.Millis(clock.Load()) } })
	if err := s.Start(func(_ scheme.Notice, done func(error)) { done(nil) }); err != nil {
		t.Fatal(err)
	}
	s.unadded.Store(addEvery - 1)
	p := payoutAt(at)
	p.Key.Value = "settle-now@pix.test"
	if _, err := s.Submit(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		clock.Add(1)
		s.adding.Lock()
		added := s.added
		s.adding.Unlock()
		if added.At != 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("not added up")
}
