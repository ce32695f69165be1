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
	// noticePatience is how long the notifier waits for an answer, from the request on; an
	// engine takes less.
	noticePatience = 15 * time.Second
	// noticesAtOnce is how many notices are sent at once; further notices wait.
	noticesAtOnce = 64
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

// NewNotifier returns a notifier to the engine at o.URL.
func NewNotifier(o Options) (*Notifier, error) {
	c, err := newClient(o, ToEngine)
	if err != nil {
		return nil, err
	}
	n := &Notifier{client: c, turns: make(chan struct{}, noticesAtOnce)}
	n.ending, n.end = context.WithCancel(context.Background())
	return n, nil
}

// Take implements scheme.Feed. The number of waiting notices is bounded by the caller.
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
		err = unexpected(status, answer)
	}
	if err != nil {
		return fmt.Errorf("notice of %s: %w", notice.EndToEnd, err)
	}
	return nil
}

// Close cancels the notices being sent; none of them counts as acknowledged.
func (n *Notifier) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.end()
	n.work.Wait()
	n.client.close()
}
