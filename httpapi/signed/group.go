package signed

import (
	"bytes"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/scheme/provider"
	"pixd/httpapi/control"
)

// Capable answers the signed question what this side can do besides taking single messages.
func Capable(_ []byte, end func(bool)) (int, any, error) {
	end(true)
	return fasthttp.StatusOK, provider.Capabilities{Groups: provider.MaxGroup}, nil
}

// linesFirst is how long the answer to a group waits for all its lines. After that each line is
// sent when it is there, so that a slow message delays no other message of its group.
const linesFirst = 2 * time.Millisecond

// HandleGroup returns a handler of groups, whose messages serve carries out by their paths, at the
// same time and each by itself. A message that panics, or whose outcome is unknown, gets no line
// in the answer.
func HandleGroup(g *provider.Guard, log *slog.Logger, serve map[string]Serve) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		m := message(ctx)
		if err := g.AdmitGroup(m, string(ctx.Request.Header.Peek(provider.HeaderSignature))); err != nil {
			refuseUnsigned(ctx, log, m.Path, err)
			return
		}
		parts, err := provider.ReadGroup(bytes.Clone(m.Body)) // parts may outlive the handler
		if err != nil {
			send(ctx, g, m, refusal(control.Bad("%v", err)))
			return
		}
		a := &groupAnswer{guard: g, log: log, lines: make(chan []byte, len(parts)), left: len(parts)}
		for i := range parts {
			go a.answer(&parts[i], serve)
		}
		a.send(ctx)
	}
}

// groupAnswer gathers the lines that answer a group.
type groupAnswer struct {
	guard *provider.Guard
	log   *slog.Logger
	lines chan []byte // a value for each message: its line, or nil for none
	left  int         // messages whose line has not been taken from lines
}

// answer carries a message out and hands on its line.
func (a *groupAnswer) answer(p *provider.Part, serve map[string]Serve) {
	var line []byte
	defer func() {
		if r := recover(); r != nil {
			a.log.Error("signed: panic", "panic", r, "stack", string(debug.Stack()))
		}
		a.lines <- line
	}()
	if got := a.carryOut(p, serve[p.Path]); got.status != 0 {
		line = a.guard.AnswerPart(nil, p, got.status, got.body)
	}
}

// carryOut admits a message and carries it out; serve is nil where its path does not exist.
func (a *groupAnswer) carryOut(p *provider.Part, serve Serve) reply {
	if serve == nil {
		return refusal(control.Missing("no such path in a group"))
	}
	end, err := a.guard.AdmitPart(p.ID)
	if err != nil {
		return repeat(err)
	}
	return carryOut(a.log, p.Path, p.Body, serve, end)
}

// send sends the lines: in one piece where all are there within linesFirst, else as they come.
func (a *groupAnswer) send(ctx *fasthttp.RequestCtx) {
	var first []byte
	timer := time.NewTimer(linesFirst)
	defer timer.Stop()
	for waiting := true; waiting && a.left > 0; {
		select {
		case line := <-a.lines:
			first = append(first, line...)
			a.left--
		case <-timer.C:
			waiting = false
		}
	}
	if a.left == 0 {
		ctx.SetContentType(provider.GroupType)
		ctx.SetBody(first)
		return
	}
	ctx.Response.Header.Set("X-Accel-Buffering", "no") // a proxy such as nginx must not hold the lines back
	rest := &control.Stream{ContentType: provider.GroupType, Works: true, Write: func(w io.Writer) error { return a.stream(w, first) }, Done: func() {}}
	rest.Send(ctx, a.log)
}

// stream sends the lines that are there, and then the others as they come. It returns when every
// message has ended, also where the sender has gone.
func (a *groupAnswer) stream(w io.Writer, ready []byte) error {
	var failed error
	for {
		if len(ready) > 0 && failed == nil {
			_, failed = w.Write(ready)
		}
		if a.left == 0 {
			return failed
		}
		ready = append(ready[:0], <-a.lines...)
		for a.left--; a.left > 0; a.left-- {
			select {
			case line := <-a.lines:
				ready = append(ready, line...)
				continue
			default:
			}
			break
		}
	}
}
