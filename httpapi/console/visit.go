package console

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/redact"
	"pixd/actors/registry"
	"pixd/httpapi/control"
)

// visit is a request of an operator, and what the page that answers it is drawn from.
type visit struct {
	*console
	ctx *fasthttp.RequestCtx
	one *session

	Page     string // the template's name, and the title's word
	Lang     language
	Who      control.Operator
	CSRF     string
	Now      pix.Millis
	Notice   string // what was done
	Problem  string // why it could not be done
	Data     any
	Damaged  int    // entries of the page's lists that are left out
	Writable bool   // the operator may write
	Admin    bool   // and what needs an admin
	Shown    string // whose documents were asked for
	key      string
	filled   url.Values // what was filled in where a form was refused
	filledIn string     // the path of that form's route
}

// known fills in what follows from who the operator is.
func (v *visit) known(who control.Operator) {
	v.Who, v.CSRF, v.Now = who, v.one.csrf, v.Tokens.Now()
	v.Writable, v.Admin = who.Role >= registry.Writer, who.Role >= registry.Admin
}

// NewKey names a form of the page: a form that is sent twice is carried out once.
func (v *visit) NewKey() string { return v.one.mark + "-" + v.sessions.random(12) }

// Switch is the address of this page in the other language.
func (v *visit) Switch() string {
	other := english
	if v.Lang == english {
		other = portuguese
	}
	if v.ctx == nil || !v.ctx.IsGet() {
		return Path + "?lang=" + string(other)
	}
	q, _ := url.ParseQuery(string(v.ctx.QueryArgs().QueryString()))
	q.Set("lang", string(other))
	q.Del("done")
	return string(v.ctx.URI().PathOriginal()) + "?" + q.Encode()
}

// Ago says how long ago an instant of the operator API was.
func (v *visit) Ago(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	return v.Lang.age(max(0, float64(int64(v.Now)-t.UnixMilli())/1000))
}

// Until says how long it is until an instant of the operator API, or that it has passed.
func (v *visit) Until(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	left := float64(t.UnixMilli()-int64(v.Now)) / 1000
	if left < 0 {
		return v.Lang.say("overdue", v.Lang.age(-left))
	}
	return v.Lang.say("in_time", v.Lang.age(left))
}

// arg returns a parameter of the page's address.
func (v *visit) arg(name string) string { return string(v.ctx.QueryArgs().Peek(name)) }

// Arg is arg without the spaces around it, for the page.
func (v *visit) Arg(name string) string { return strings.TrimSpace(v.arg(name)) }

// field returns a field of a form, without the spaces around it.
func (v *visit) field(name string) string {
	return strings.TrimSpace(string(v.ctx.PostArgs().Peek(name)))
}

// Form is the visit for a form of the page: what was filled into another form is none of its own, though its fields may
// have the same names. route is the path of its route.
func (v *visit) Form(route string) *visit {
	if v.filledIn == route {
		return v
	}
	w := *v
	w.filled = nil
	return &w
}

// Was returns what was filled into a field of a form that was refused, and otherwise another text.
func (v *visit) Was(name, otherwise string) string {
	if v.filled == nil {
		return otherwise
	}
	return v.filled.Get(name)
}

// id returns the part of the path that is an id, for a path of the API.
func (v *visit) id() string {
	text, _ := v.ctx.UserValue("id").(string)
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return url.PathEscape(text)
}

// Later is the address of the page that follows in a list.
func (v *visit) Later(cursor *string) string {
	q, _ := url.ParseQuery(string(v.ctx.QueryArgs().QueryString()))
	q.Set("cursor", *cursor)
	q.Del("done")
	return "?" + q.Encode()
}

// visitor returns the visit of whoever has logged in; nil: nobody has.
func (c *console) visitor(ctx *fasthttp.RequestCtx) *visit {
	one, who := c.sessions.of(ctx)
	if one == nil {
		return nil
	}
	v := &visit{console: c, ctx: ctx, one: one, Lang: languageOf(ctx)}
	v.known(who)
	return v
}

// page returns a handler that draws a page for whoever has logged in, and sends others to log in.
func (c *console) page(p pageRoute) fasthttp.RequestHandler {
	return c.headed(func(ctx *fasthttp.RequestCtx) {
		v := c.visitor(ctx)
		if v == nil {
			toLogin(ctx)
			return
		}
		v.Page = p.name
		if done := v.arg("done"); done != "" {
			o := v.one.became(done)
			v.Notice, v.Problem, v.Shown, v.filled, v.filledIn = o.Notice, v.Lang.say(o.Problem), o.Shown, o.fields, o.form
			if o.Shown != "" {
				v.one.unshow(done)
			}
		}
		status := fasthttp.StatusOK
		if err := p.fill(v); err != nil {
			status, v.Problem = v.judge(err)
			v.Page, v.Data = "problem_page", nil
		}
		c.draw(ctx, status, v)
	})
}

// judge returns with which status and words an error is answered.
func (v *visit) judge(err error) (status int, text string) {
	var refused *problem
	switch {
	case errors.As(err, &refused):
		return refused.status, v.Lang.say("refused_by_api", refused.message)
	case errors.Is(err, errUnknown):
		return fasthttp.StatusBadGateway, v.Lang.say("unknown")
	}
	v.Log.Error("console: a page failed", "path", redact.Path(string(v.ctx.Path())), "error", err)
	return fasthttp.StatusInternalServerError, v.Lang.say("internal_error")
}

// form returns a handler that carries out a form once, however often it is sent, and has the browser read the page
// that says what became of it. A form that comes without a session, or from a page of an earlier one, is shown
// again with all its fields, to be sent once more.
func (c *console) form(f formRoute) fasthttp.RequestHandler {
	return c.headed(func(ctx *fasthttp.RequestCtx) {
		v := c.visitor(ctx)
		path := strings.TrimPrefix(string(ctx.URI().PathOriginal()), Path)
		if v == nil {
			v = &visit{console: c, ctx: ctx, Page: "login", Lang: languageOf(ctx), Data: keptOf(path, string(ctx.PostBody()))}
			v.Problem = v.Lang.say(map[bool]string{true: "session_ended", false: "session_over"}[v.Data.(*kept) != nil])
			c.draw(ctx, fasthttp.StatusUnauthorized, v)
			return
		}
		v.key = string(ctx.PostArgs().Peek("key"))
		if l := language(ctx.PostArgs().Peek("form_lang")); l == portuguese || l == english {
			v.Lang = l // in which its amounts are written
		}
		if !v.one.allows(ctx.PostArgs().Peek("csrf")) {
			v.Page, v.Problem, v.Data = "again", v.Lang.say("older_page"), keptOf(path, string(ctx.PostBody()))
			c.draw(ctx, fasthttp.StatusForbidden, v)
			return
		}
		if v.key == "" || len(v.key) > 64 {
			refuse(ctx, fasthttp.StatusBadRequest, "the form has no key")
			return
		}
		o := v.one.once(v.key, func() outcome { return v.carryOut(f) })
		to := o.To
		if to == "" {
			to = strings.Replace(f.page, "{id}", v.id(), 1)
		}
		redirect(ctx, Path+withDone(to, v.key))
	})
}

// withDone adds the key of a form to the address of the page that says what became of it.
func withDone(to, key string) string {
	mark := "?"
	if strings.Contains(to, "?") {
		mark = "&"
	}
	return to + mark + "done=" + url.QueryEscape(key)
}

// carryOut carries out a form. One from a page of an earlier session may have been carried out then, by a process
// that has ended since: the record of actions tells.
func (v *visit) carryOut(f formRoute) outcome {
	if !v.one.made(v.key) {
		if o, was := v.before(); was {
			return o
		}
	}
	o := f.do(v)
	if o.Problem != "" && len(v.ctx.PostBody()) <= mostKept {
		o.fields, _ = url.ParseQuery(string(v.ctx.PostBody()))
		o.fields.Del("csrf")
		o.form = f.path
	}
	return o
}

// mostActions is how many actions are looked through for a form's key.
const mostActions = 10_000

// before tells what the record has of the form, whoever has sent it. Where the record is too long to be looked through,
// the form is refused.
func (v *visit) before() (outcome, bool) {
	var those []action
	for cursor, read := "", 0; ; {
		var l list[action]
		if err := v.get("/admin/actions?limit=200&cursor="+url.QueryEscape(cursor), &l); err != nil {
			_, text := v.judge(err)
			return outcome{Problem: text}, true
		}
		for _, a := range l.Data {
			if a.RequestID == v.key {
				those = append(those, a)
			}
		}
		if read += len(l.Data); l.Next == nil || len(those) > 0 && (len(l.Data) == 0 || l.Data[len(l.Data)-1].RequestID != v.key) {
			break
		}
		if cursor = *l.Next; read >= mostActions {
			return outcome{Problem: v.Lang.say("record_too_long")}, true
		}
	}
	if len(those) == 0 {
		return outcome{}, false
	}
	text := v.Lang.say("sent_before")
	for _, a := range slices.Backward(those) {
		text += " " + a.Operator + ", " + a.Shown() + ": " + a.answered(v.Lang) + "."
	}
	return outcome{Problem: text}, true
}
