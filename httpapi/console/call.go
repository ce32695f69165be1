package console

import (
	"errors"
	"fmt"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/httpapi/control"
)

// outcome is what became of a form: the page to read next, and what it says.
type outcome struct {
	Notice, Problem string
}

// problem is the operator API's refusal.
type problem struct {
	status  int
	message string
}

func (p *problem) Error() string { return p.message }

// errUnknown says that nobody knows whether a request was carried out.
var errUnknown = errors.New("outcome unknown")

// call has the operator API answer a request of an operator, and reads the answer into a value. A refusal is a *problem.
func (c *console) call(ctx *fasthttp.RequestCtx, who control.Operator, method, path string, body, into any) error {
	var inner fasthttp.RequestCtx
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	if body != nil {
		req.Header.SetContentType("application/json")
		req.SetBody(control.Encode(body))
	}
	inner.Init(&req, ctx.RemoteAddr(), nil)
	ctx.VisitUserValues(func(key []byte, value any) { inner.SetUserValueBytes(key, value) })
	control.As(&inner, who)
	c.API(&inner)
	if inner.Hijacked() {
		return errUnknown
	}
	status, answer := inner.Response.StatusCode(), inner.Response.Body()
	if status >= 300 {
		var refused struct{ Error struct{ Message string } }
		if err := json.Unmarshal(answer, &refused); err != nil {
			return fmt.Errorf("console: %s %s: %d: %w", method, path, status, err)
		}
		return &problem{status, refused.Error.Message}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("console: %s %s: %w", method, path, err)
	}
	return nil
}

// page returns a handler that draws a page for whoever has logged in, and sends others to log in.
func (c *console) page(fill func(ctx *fasthttp.RequestCtx, v *view) error) fasthttp.RequestHandler {
	return c.headed(func(ctx *fasthttp.RequestCtx) {
		one, who := c.sessions.of(ctx)
		if one == nil {
			redirect(ctx, Path+"/login")
			return
		}
		v := &view{Lang: languageOf(ctx), Who: who, CSRF: one.csrf, Key: c.sessions.random(), Now: c.Tokens.Now(), Writable: who.Role > 1}
		if done := string(ctx.QueryArgs().Peek("done")); done != "" {
			o := one.became(done)
			v.Notice, v.Problem = o.Notice, o.Problem
		}
		status := fasthttp.StatusOK
		var refused *problem
		switch err := fill(ctx, v); {
		case errors.As(err, &refused):
			v.Problem, status = refused.message, refused.status
		case err != nil:
			c.Log.Error("console: page", "path", string(ctx.Path()), "error", err)
			v.Problem, status = "internal error", fasthttp.StatusInternalServerError
		}
		c.draw(ctx, status, v)
	})
}

// form returns a handler that carries out a form once, however often it is sent, and has the browser read the page
// that says what became of it.
func (c *console) form(do func(ctx *fasthttp.RequestCtx, who control.Operator) outcome) fasthttp.RequestHandler {
	return c.headed(func(ctx *fasthttp.RequestCtx) {
		one, who := c.sessions.of(ctx)
		if one == nil {
			redirect(ctx, Path+"/login")
			return
		}
		args := ctx.PostArgs()
		if !one.allows(args.Peek("csrf")) {
			ctx.Error("forbidden", fasthttp.StatusForbidden)
			return
		}
		key := string(args.Peek("key"))
		one.once(key, func() outcome { return do(ctx, who) })
		redirect(ctx, string(ctx.Path())+"?done="+key)
	})
}

// mostForms is how many forms of a session are remembered.
const mostForms = 1000

// once carries out the form with a key, unless that was done. A session does one form at a time.
func (o *session) once(key string, do func() outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.done[key]; known || key == "" {
		return
	}
	o.done[key] = do()
	if o.order = append(o.order, key); len(o.order) > mostForms {
		delete(o.done, o.order[0])
		o.order = o.order[1:]
	}
}

// became returns what became of the form with a key.
func (o *session) became(key string) outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.done[key]
}
