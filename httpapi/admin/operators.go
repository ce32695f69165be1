package admin

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/redact"
	"pixd/actors/registry"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// Operator is an operator with a name as the operator API shows it. The token is shown only once, in
// the answer that makes it.
type Operator struct {
	Name      string  `json:"name"`
	Role      string  `json:"role"`
	Token     string  `json:"token,omitempty"`
	Active    bool    `json:"active"`
	CreatedAt string  `json:"created_at"`
	RevokedAt *string `json:"revoked_at"`
}

func shownOperator(o *registry.Operator, token string) Operator {
	return Operator{o.Name, o.Role.String(), token, o.RevokedAt == 0, o.CreatedAt.String(), instant(o.RevokedAt)}
}

// admins refuses whoever is not an admin.
func admins(next handler) handler {
	return func(ctx *fasthttp.RequestCtx) (int, any, error) {
		if who := control.Who(ctx); who.Role < registry.Admin {
			return 0, nil, control.Refuse(fasthttp.StatusForbidden, "%s is an operator, and this needs an admin", who.Name)
		}
		return next(ctx)
	}
}

// addOperator is POST /admin/operators.
func (s *service) addOperator(ctx *fasthttp.RequestCtx) (int, any, error) {
	var name, role string
	f := control.Read(ctx.PostBody(), "name", "role")
	f.Need("name", "role")
	if f.Text("name", &name); !registry.ValidOperatorName(name) {
		f.Refuse("name", "1 to 39 letters, digits, and . _ - @ +, and not root")
	}
	f.Text("role", &role)
	is, ok := registry.ParseRole(role)
	if !ok {
		f.Refuse("role", "viewer, operator or admin")
	}
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	token := base64.RawURLEncoding.EncodeToString(s.NewSecret(32))
	o, err := s.Operators.Add(name, is, token)
	switch {
	case errors.Is(err, registry.ErrExists):
		return 0, nil, control.Refuse(fasthttp.StatusConflict, "there is an operator %q: revoke that token first", name)
	case errors.Is(err, registry.ErrManyOperator):
		return 0, nil, control.Refuse(fasthttp.StatusConflict, "there are 1000 operators, and there can be no more")
	case err != nil:
		return 0, nil, err
	}
	return fasthttp.StatusCreated, shownOperator(o, token), nil
}

// listOperators is GET /admin/operators.
func (s *service) listOperators(ctx *fasthttp.RequestCtx) (int, any, error) {
	p, err := control.ReadPage(ctx)
	if err != nil {
		return 0, nil, err
	}
	all := s.Operators.All()
	l, err := p.Of(len(all), func(i int) (any, error) { return shownOperator(all[i], ""), nil })
	return fasthttp.StatusOK, l, err
}

// revokeOperator is DELETE /admin/operators/:name.
func (s *service) revokeOperator(ctx *fasthttp.RequestCtx) (int, any, error) {
	text, _ := ctx.UserValue("name").(string)
	name, err := url.PathUnescape(text)
	if err != nil {
		return 0, nil, control.Missing("no operator %q", text)
	}
	o, err := s.Operators.Revoke(name)
	if errors.Is(err, registry.ErrNoOperator) {
		return 0, nil, control.Missing("no operator %q", name)
	}
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusOK, shownOperator(o, ""), nil
}

// Action is a write through the operator API as it is listed.
type Action struct {
	ID        string  `json:"id"`
	At        string  `json:"at"`
	Operator  string  `json:"operator"`
	Role      string  `json:"role"`
	Method    string  `json:"method"`
	Path      string  `json:"path"`
	Body      string  `json:"body"`
	Status    *uint16 `json:"status"` // null: it was not answered, and may or may not have been done
	RequestID string  `json:"request_id"`
}

// listActions is GET /admin/actions?operator=: the newest first.
func (s *service) listActions(ctx *fasthttp.RequestCtx) (int, any, error) {
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	before := uint64(0)
	if cursor := string(ctx.QueryArgs().Peek("cursor")); cursor != "" {
		if before, err = strconv.ParseUint(cursor, 10, 64); err != nil || before == 0 {
			return 0, nil, control.Bad("cursor must be a next_cursor of this list")
		}
	}
	all, next, err := s.Operators.Actions(string(ctx.QueryArgs().Peek("operator")), before, limit)
	if err != nil {
		return 0, nil, err
	}
	l := control.List{Data: make([]any, len(all))}
	for i, a := range all {
		shown := Action{
			ID: strconv.FormatUint(a.Number, 10), At: a.At.String(), Operator: a.Operator, Role: a.Role.String(),
			Method: a.Method, Path: a.Path, Body: a.Body, RequestID: a.RequestID,
		}
		if a.Status != 0 {
			shown.Status = &a.Status
		}
		l.Data[i] = shown
	}
	if next != 0 {
		l.Next = orNull(strconv.FormatUint(next, 10))
	}
	return fasthttp.StatusOK, l, nil
}

// disclose is POST /admin/disclosures: an operator asks for whose documents an account or a transaction is. The
// API shows them anyway: the request is for the record, from whoever masks them.
func (s *service) disclose(ctx *fasthttp.RequestCtx) (int, any, error) {
	var subject string
	f := control.Read(ctx.PostBody(), "subject")
	f.Need("subject")
	f.Text("subject", &subject)
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	if _, err := s.accountNamed(subject); err != nil {
		o, err := s.History.Anyone(subject)
		if err != nil {
			return 0, nil, err
		}
		if o == nil {
			return 0, nil, control.Missing("no account and no transaction %q", subject)
		}
	}
	return fasthttp.StatusCreated, struct {
		Subject string `json:"subject"`
	}{subject}, nil
}

// recorded records each write below /admin durably before next does it, and how it was answered. What the simulator is
// asked to do below /sim is not recorded.
func (s *service) recorded(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if ctx.IsGet() || ctx.IsHead() || !control.Below(string(ctx.URI().PathOriginal()), []string{"/admin"}) {
			next(ctx)
			return
		}
		who := control.Who(ctx)
		action, err := s.Operators.Begin(registry.Action{
			Operator: who.Name, Role: who.Role, RequestID: httpapi.RequestID(ctx), Method: string(ctx.Method()),
			Path: withoutSecrets(string(ctx.RequestURI())), Body: keptBody(ctx.PostBody()),
		})
		if err != nil {
			s.Log.Error("admin: an action cannot be recorded", "operator", who.Name, "error", err)
			control.AnswerProblem(ctx, control.Refuse(fasthttp.StatusServiceUnavailable, "the action cannot be recorded, so nothing was done"))
			return
		}
		next(ctx)
		if ctx.Hijacked() {
			return // the outcome is unknown
		}
		if err := s.Operators.End(action, ctx.Response.StatusCode()); err != nil {
			s.Log.Error("admin: the end of an action cannot be recorded", "action", action.Number, "error", err)
		}
	}
}

// secret finds what can be a secret in a request: a merchant's, a webhook's, or another long random text. The longest id,
// a UUID, has 36 characters.
var secret = regexp.MustCompile(`\b(?:sk|whsec)_[A-Za-z0-9_=+/-]*|[A-Za-z0-9_-]{40,}`)

func withoutSecrets(s string) string { return secret.ReplaceAllString(s, redact.Hidden) }

// keptBody returns what is kept of a body: JSON with sorted members and without what can be a secret. Of a body that is
// no JSON only the length is kept.
func keptBody(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || d.More() {
		return fmt.Sprintf("%d bytes that are no JSON", len(body))
	}
	return withoutSecrets(string(control.Encode(v)))
}

// forgetFirst forgets the first approval of a payout that waits no more. Where one is enough, there is none.
func (s *service) forgetFirst(o *ledger.Owned) {
	if s.ApprovalBy < 2 && s.Operators.FirstApproval(o.Tx.ID) == nil {
		return
	}
	now, err := s.History.Anyone(o.Tx.Public())
	if err == nil && (now == nil || !s.waits(now)) {
		err = s.Operators.Decided(o.Tx.ID)
	}
	if err != nil {
		s.Log.Error("admin: a first approval is not forgotten", "transaction", o.Tx.Public(), "error", err)
	}
}

// approvedOnce notes one of two approvals of a payout. It returns the names of both who approved it; nil: another
// must approve it too.
func (s *service) approvedOnce(payout pix.TxID, name string) ([]string, error) {
	first, err := s.Operators.Approve(payout, name)
	switch {
	case errors.Is(err, registry.ErrApprovedOnce):
		return nil, control.Refuse(fasthttp.StatusConflict, "%s has approved the payout: another operator must approve it too", name)
	case err != nil || first == nil:
		return nil, err
	}
	return []string{first.Operator, name}, nil
}
