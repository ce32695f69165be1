package provider

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"pixd/actors/redact"
)

// readers are the buffers in which lines are read, each as large as the longest line.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxAnswerLine) }}

// drainTime is the longest wait for the end of an answer whose lines have all come.
const drainTime = time.Second

// carry sends a group and hands each answer to its message. Each message without an answer gets the
// error: it is unknown whether it arrived. Where the other side takes no groups by now, each is sent
// by itself.
func (g *grouper) carry(ctx context.Context, h *hold, together *group, calls []*call) {
	defer together.end()
	size := 0
	for _, c := range calls {
		size += c.size()
	}
	body := make([]byte, 0, size)
	for _, c := range calls {
		body = c.appendTo(body)
	}
	err := g.exchange(ctx, together, body)
	if missing := g.over(together, h, err); len(missing) != 0 {
		err = g.client.failed(ctx, err)
		for _, c := range missing {
			c.answer <- answer{err: err}
		}
	}
}

// over ends a group, and returns its messages that have no answer. After a refusal of the whole group
// messages travel by themselves until the other side has been asked again.
func (g *grouper) over(together *group, h *hold, err error) map[string]*call {
	g.mu.Lock()
	defer g.mu.Unlock()
	missing := together.calls
	together.calls = nil
	if errors.Is(err, errRefused) || errors.Is(err, errNoGroups) {
		g.takes(0)
		g.asked = g.client.Now()
	}
	if !errors.Is(err, errNoGroups) {
		return missing
	}
	for _, c := range missing {
		c.alone <- h
	}
	return nil
}

// errNoGroups is the error of a group that reached a side without groups: no message of it was
// carried out. errRefused is that of any other refusal of a whole group.
var (
	errNoGroups = errors.New("the other side takes no groups")
	errRefused  = errors.New("the group was refused")
)

// exchange sends a group's request and reads the lines of its answer. The error says why not all
// messages have got theirs.
func (g *grouper) exchange(ctx context.Context, together *group, body []byte) error {
	got, _, err := g.client.request(ctx, g.paths.group, g.client.NewID(), body)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	switch got.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return errNoGroups
	case http.StatusServiceUnavailable: // not now
		return fmt.Errorf("answer %d to a group", got.StatusCode)
	default:
		return fmt.Errorf("answer %d to a group: %w", got.StatusCode, errRefused)
	}
	lines := readers.Get().(*bufio.Reader)
	lines.Reset(got.Body)
	defer func() {
		lines.Reset(nil)
		readers.Put(lines)
	}()
	for g.left(together) {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("the answer to a group ended early: %w", redact.Error(err))
		}
		if err := g.hand(ctx, together, line[:len(line)-1]); err != nil {
			return err
		}
	}
	defer time.AfterFunc(drainTime, together.end).Stop()
	_, _ = lines.Peek(1) // the end of the answer, after which the connection can be used again
	return nil
}

// left reports whether messages of a group have no answer yet.
func (g *grouper) left(together *group) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(together.calls) != 0
}

// hand gives a line's answer to its message. A line for a message that has its answer, or whose
// caller has gone, is ignored.
func (g *grouper) hand(ctx context.Context, together *group, line []byte) error {
	a, err := readAnswerLine(line)
	if err != nil {
		return err
	}
	g.mu.Lock()
	c := together.calls[a.id]
	delete(together.calls, a.id)
	g.mu.Unlock()
	if c == nil {
		return nil
	}
	m := c.request()
	m.Direction, m.Status, m.Body, m.Timestamp = g.client.direction.answer(), a.status, bytes.Clone(a.body), a.at
	if err := g.client.accept(m, a.signature); err != nil {
		c.answer <- answer{err: g.client.failed(ctx, fmt.Errorf("answer %d in a group: %w", a.status, err))}
		return nil
	}
	c.answer <- answer{status: a.status, body: m.Body}
	return nil
}
