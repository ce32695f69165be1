package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// kept is a form that was sent without a session that lets it through: the operator logs in and sends it
// again, with nothing lost.
type kept struct {
	Path string // of the form, below Path
	Body string // as it was sent
}

// field is a field of a form that was kept.
type field struct{ Name, Value string }

// Fields are the fields that the operator filled in.
func (k *kept) Fields() (all []field) {
	values, err := url.ParseQuery(k.Body)
	if err != nil {
		return nil
	}
	for name, those := range values {
		for _, value := range those {
			if name != "csrf" && name != "key" && name != "form_lang" {
				all = append(all, field{name, value})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Shown are the fields that an operator sees: without what the page had shown before.
func (k *kept) Shown() []field {
	return slices.DeleteFunc(k.Fields(), func(f field) bool { return strings.HasPrefix(f.Name, "was_") })
}

// Lang is the language that the form was in.
func (k *kept) Lang() string {
	values, _ := url.ParseQuery(k.Body)
	return values.Get("form_lang")
}

// Key is the key of the form, by which it is carried out once.
func (k *kept) Key() string {
	values, _ := url.ParseQuery(k.Body)
	return values.Get("key")
}

// keptOf returns the form that a request is; nil: it is none of the console's.
func keptOf(path, body string) *kept {
	if slices.ContainsFunc(slices.Concat(allForms, sandboxForms), func(f formRoute) bool { return fits(f.path, path) }) && len(body) <= mostKept {
		return &kept{path, body}
	}
	return nil
}

// mostKept is the longest form that is kept, in bytes.
const mostKept = 32 << 10

// fits reports whether a path below Path is one of a route, whose parts in braces stand for any.
func fits(route, path string) bool {
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

func (c *console) showLogin(ctx *fasthttp.RequestCtx) {
	c.draw(ctx, fasthttp.StatusOK, &visit{Page: "login", Lang: languageOf(ctx)})
}

// logIn begins a session of whoever has the token. An address may try five wrong tokens a minute.
func (c *console) logIn(ctx *fasthttp.RequestCtx) {
	args := ctx.PostArgs()
	v := &visit{console: c, ctx: ctx, Page: "login", Lang: languageOf(ctx)}
	if k := keptOf(string(args.Peek("kept_path")), string(args.Peek("kept_body"))); k != nil {
		v.Data = k
	}
	token := string(args.Peek("token"))
	who, ok, _ := c.Tokens.Of(token)
	if !ok {
		v.Problem = v.Lang.say("login_wrong")
		status := fasthttp.StatusUnauthorized
		if from, known := httpapi.PeerOf(ctx); known {
			if _, ok := c.sessions.wrong.Take(httpapi.Network(from), c.Tokens.Now()); !ok {
				status, v.Problem = fasthttp.StatusTooManyRequests, v.Lang.say("login_wait")
				ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "60")
			}
		}
		c.draw(ctx, status, v)
		return
	}
	one, cookie := c.sessions.begin(token)
	c.setCookie(ctx, cookie)
	if v.Data == nil {
		redirect(ctx, Path)
		return
	}
	v.one, v.Page = one, "again"
	v.known(who)
	c.draw(ctx, fasthttp.StatusOK, v)
}

func (c *console) logOut(ctx *fasthttp.RequestCtx) {
	v := c.visitor(ctx)
	if v != nil && !v.one.allows(ctx.PostArgs().Peek("csrf")) {
		refuse(ctx, fasthttp.StatusForbidden, "forbidden")
		return
	}
	if v != nil {
		v.dropMerchantKeys()
		c.sessions.end(v.one)
	}
	c.setCookie(ctx, "")
	redirect(ctx, Path+"/login")
}

// toLogin has the browser read the login page, also where a script asks for a part of a page.
func toLogin(ctx *fasthttp.RequestCtx) {
	if len(ctx.Request.Header.Peek("HX-Request")) > 0 {
		refuse(ctx, fasthttp.StatusUnauthorized, "no session")
		ctx.Response.Header.Set("HX-Redirect", Path+"/login")
		return
	}
	redirect(ctx, Path+"/login")
}

// redirect has the browser read another page of the console.
func redirect(ctx *fasthttp.RequestCtx, to string) {
	ctx.Response.Header.Set(fasthttp.HeaderLocation, to)
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
}
