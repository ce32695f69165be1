package provider

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"pixd/actors/pix"
)

// grouper sends the messages about payments. While a request is under way, the messages that
// come meanwhile wait, and then travel together as a group: so under load a request and its
// connection serve many messages, and none waits where nothing is under way. A request holds the
// others back for at most holdTime, so that a slow answer delays no other message.
//
// To a side that takes no groups every message is sent at once, by itself.
type grouper struct {
	client *client
	paths  struct{ capabilities, group string } // where the other side takes the question and the groups
	work   sync.WaitGroup                       // the groups under way
	ending context.Context
	end    context.CancelFunc

	mu      sync.Mutex
	waiting []*call // the longest waiting first
	held    *hold   // the request that holds the others back; nil: none does
	most    int     // the most messages of a group that the other side takes; below 2: it takes none, or is not known to
	closed  bool
	asked   pix.Millis // time of the last question for most; 0: there was none
}

const (
	// holdTime is the longest time for which a request holds back the messages that come after
	// it.
	holdTime = 2 * time.Millisecond
	// askEvery is the least time in ms between two questions whether the other side takes
	// groups.
	askEvery = pix.Millis(60_000)
	// askPatience is the longest time from such a question until its answer.
	askPatience = 5 * time.Second
)

// call is a message that waits for its answer.
type call struct {
	Part
	alone  chan *hold  // gets the hold with which the message is to be sent by itself
	answer chan answer // gets the answer of a message that travels in a group
	group  *group      // the group in which it travels; nil: it waits, or is sent by itself
}

type answer struct {
	status int
	body   []byte
	err    error
}

// hold is a request's place as the one that holds others back, if it is grouper.held.
type hold struct{ timer *time.Timer }

// group is a request that carries several messages.
type group struct {
	calls map[string]*call // those without an answer, by message id
	end   context.CancelFunc
}

func newGrouper(c *client) *grouper {
	g := &grouper{client: c, most: -1}
	g.ending, g.end = context.WithCancel(context.Background())
	g.paths.capabilities, g.paths.group = PathCapabilities, PathGroup
	if c.direction == ToEngine {
		g.paths.capabilities, g.paths.group = PathNoticeCapabilities, PathNoticeGroup
	}
	return g
}

// close ends the groups under way, and waits until nothing runs any more. What is posted after it
// travels by itself.
func (g *grouper) close() {
	g.mu.Lock()
	g.closed, g.most = true, 0
	g.mu.Unlock()
	g.end()
	g.work.Wait()
}

// post is client.post for a message that may travel in a group.
func (g *grouper) post(ctx context.Context, path string, body []byte) (status int, got []byte, err error) {
	c := g.join(path, body)
	if c == nil {
		return g.client.send(ctx, path, g.client.NewID(), body, MaxBody)
	}
	select {
	case h := <-c.alone:
		defer g.release(h)
		return g.client.send(ctx, path, c.ID, body, MaxBody)
	case a := <-c.answer:
		return a.status, a.body, a.err
	case <-ctx.Done():
		g.leave(c)
		return 0, nil, g.client.failed(ctx, ctx.Err())
	}
}

// join lets a message wait for its turn, which may come at once. It returns nil where the other
// side takes no groups, or the message is too long for one.
func (g *grouper) join(path string, body []byte) *call {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.most < 2 {
		g.inquire()
		return nil
	}
	if len(body) > MaxBody {
		return nil
	}
	c := &call{Part: Part{g.client.NewID(), path, body}, alone: make(chan *hold, 1), answer: make(chan answer, 1)}
	g.waiting = append(g.waiting, c)
	g.next()
	return c
}

// next sends what waits, unless a request holds it back: in as many groups as it takes, of which the
// last one holds back what comes later. Like giveBack, inquire and takes it is called with mu
// held.
func (g *grouper) next() {
	for g.held == nil && len(g.waiting) > 0 {
		n := g.fits()
		calls := g.waiting[:n]
		h := &hold{}
		if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
			g.waiting = nil
			g.held = h
			h.timer = time.AfterFunc(holdTime, func() { g.release(h) })
		}
		if n == 1 {
			calls[0].alone <- h
		} else {
			g.together(h, calls)
		}
	}
}

// fits returns how many of the messages that wait travel in the next request.
func (g *grouper) fits() (n int) {
	for size := 0; n < len(g.waiting); n++ {
		if size += g.waiting[n].size(); n > 0 && (n >= g.most || size > MaxGroupBytes) {
			break
		}
	}
	return n
}

// together sends calls in a group.
func (g *grouper) together(h *hold, calls []*call) {
	ctx, end := context.WithCancel(g.ending)
	all := &group{calls: make(map[string]*call, len(calls)), end: end}
	for _, c := range calls {
		all.calls[c.ID], c.group = c, all
	}
	g.work.Go(func() {
		defer g.release(h)
		g.carry(ctx, h, all, calls)
	})
}

// release ends a request's hold on the messages that wait.
func (g *grouper) release(h *hold) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.giveBack(h)
}

func (g *grouper) giveBack(h *hold) {
	if g.held == h {
		h.timer.Stop()
		g.held = nil
		g.next()
	}
}

// leave ends the wait of a message whose caller has gone. The last one that leaves a group ends the
// group's request.
func (g *grouper) leave(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.group != nil {
		if delete(c.group.calls, c.ID); len(c.group.calls) == 0 {
			c.group.end()
		}
		return
	}
	select {
	case h := <-c.alone:
		g.giveBack(h)
	default:
		g.waiting = slices.DeleteFunc(g.waiting, func(w *call) bool { return w == c })
	}
}

// inquire asks the other side whether it takes groups, unless that was done a short time ago.
func (g *grouper) inquire() {
	now := g.client.Now()
	if g.closed || g.asked != 0 && now-g.asked < askEvery && now >= g.asked {
		return
	}
	g.asked = now
	g.work.Go(func() {
		ctx, cancel := context.WithTimeout(g.ending, askPatience)
		defer cancel()
		status, body, err := g.client.try(ctx, g.paths.capabilities, g.client.NewID(), []byte("{}"), MaxBody)
		var can Capabilities
		if err != nil || status != http.StatusOK || decode(body, &can, true) != nil || can.Groups < 2 {
			can.Groups = 0
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.takes(min(can.Groups, MaxGroup))
	})
}

// takes notes the most messages of a group that the other side takes.
func (g *grouper) takes(most int) {
	if g.closed {
		return
	}
	if g.most != most {
		g.client.Log.Info("messages in groups", "to", g.client.base.Host, "at_most", most)
	}
	g.most = most
}
