package provider

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"pixd/actors/scheme"
)

const (
	// noticePatience is the longest time from sending a notice until the engine's answer; an
	// engine answers sooner.
	noticePatience = 15 * time.Second
	// noticesAtOnce is the largest number of notices that are sent at once; further notices
	// wait.
	noticesAtOnce = 256
)

// Notifier sends a scheme's notices to an engine in another process. Its method Take is a
// scheme.Feed.
type Notifier struct {
	client *client
	turns  chan struct{}
	ending context.Context
	end    context.CancelFunc

	mu     sync.Mutex // guards closed, and orders work.Add before work.Wait
	closed bool
	work   sync.WaitGroup
}

// NewNotifier returns a notifier for the engine at o.URL.
func NewNotifier(o Options) (*Notifier, error) {
	c, err := newClient(o, ToEngine)
	if err != nil {
		return nil, err
	}
	n := &Notifier{client: c, turns: make(chan struct{}, noticesAtOnce)}
	n.ending, n.end = context.WithCancel(context.Background())
	return n, nil
}

// Take implements scheme.Feed. It does not bound the number of waiting notices: its caller
// must.
func (n *Notifier) Take(notice scheme.Notice, done func(error)) {
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.work.Add(1)
	}
	n.mu.Unlock()
	if closed {
		done(context.Canceled)
		return
	}
	go func() {
		defer n.work.Done()
		done(n.deliver(notice))
	}()
}

// deliver sends a notice; the error is nil once the engine has acknowledged the notice.
func (n *Notifier) deliver(notice scheme.Notice) error {
	select {
	case n.turns <- struct{}{}:
		defer func() { <-n.turns }()
	case <-n.ending.Done():
		return n.ending.Err()
	}
	ctx, cancel := context.WithTimeout(n.ending, noticePatience)
	defer cancel()
	status, answer, err := n.client.post(ctx, PathNotices, TellNotice(notice), MaxBody)
	if err == nil && status != http.StatusOK {
		err = refusalOf(status, answer)
	}
	if err != nil {
		return fmt.Errorf("notice of %s: %w", notice.EndToEnd, err)
	}
	return nil
}

// refusalOf returns the error for an answer by which a notice is not acknowledged:
// scheme.ErrNoPayee where the engine refuses a payment for good.
func refusalOf(status int, answer []byte) error {
	var r Refusal
	if status == http.StatusUnprocessableEntity && decode(answer, &r, true) == nil && r.Code == RefusedPayee {
		return scheme.ErrNoPayee
	}
	return unexpected(status, answer)
}

// Close cancels the notices that are being sent. None of them counts as acknowledged.
func (n *Notifier) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.end()
	n.work.Wait()
	n.client.close()
}
