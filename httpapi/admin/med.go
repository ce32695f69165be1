package admin

import (
	"encoding/hex"
	"net/url"
	"slices"

	"github.com/goccy/go-json"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// ownedCase returns a special-return case as merchants see it, preceded by its account, the
// scheme's id of the report and the analyst's words.
func ownedCase(o ledger.OwnedCase) (json.RawMessage, error) {
	begin, err := json.Marshal(struct {
		Account    string  `json:"account_id"`
		Infraction string  `json:"infraction_id"`
		Details    *string `json:"analysis_details"`
	}{o.Account.String(), o.Case.Infraction, orNull(o.Case.Details)})
	if err != nil {
		return nil, err
	}
	begin[len(begin)-1] = ','
	return append(begin, httpapi.Case(o.Case)[1:]...), nil
}

// listCases is GET /admin/med?status=: it lists the special-return cases of all accounts, the
// oldest first, or those in one status.
func (s *service) listCases(ctx *fasthttp.RequestCtx) (int, any, error) {
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	q := ctx.QueryArgs()
	var status ledger.CaseStatus
	if text := string(q.Peek("status")); text != "" {
		all := ledger.CaseStatuses()
		i := slices.IndexFunc(all, func(s ledger.CaseStatus) bool { return s.String() == text })
		if i < 0 {
			return 0, nil, control.Bad("status must be open, defended, closed or cancelled")
		}
		status = all[i]
	}
	after, err := readCursor(ctx, ledger.IsCaseIDKey)
	if err != nil {
		return 0, nil, err
	}
	all, next, err := s.History.AllCases(status, after, limit)
	if err != nil {
		return 0, nil, err
	}
	l := control.List{Data: make([]any, len(all)), Next: orNull(hex.EncodeToString(next))}
	for i := range all {
		if l.Data[i], err = ownedCase(all[i]); err != nil {
			return 0, nil, err
		}
	}
	return fasthttp.StatusOK, l, nil
}

// showCase is GET /admin/med/:id.
func (s *service) showCase(ctx *fasthttp.RequestCtx) (int, any, error) {
	o, err := s.specialReturn(ctx)
	if err != nil {
		return 0, nil, err
	}
	body, err := ownedCase(*o)
	return fasthttp.StatusOK, body, err
}

// specialReturn returns the special-return case that the path names.
func (s *service) specialReturn(ctx *fasthttp.RequestCtx) (*ledger.OwnedCase, error) {
	name, _ := ctx.UserValue("id").(string)
	id, err := url.PathUnescape(name)
	if err != nil {
		return nil, control.Missing("no case %q", name)
	}
	o, err := s.History.AnyCase(id)
	if err == nil && o == nil {
		err = control.Missing("no case %q", id)
	}
	return o, err
}

// analyse is POST /admin/med/:id/analysis: the institution's analyst closes a case.
func (s *service) analyse(ctx *fasthttp.RequestCtx) (int, any, error) {
	o, err := s.specialReturn(ctx)
	if err != nil {
		return 0, nil, err
	}
	f := control.Read(ctx.PostBody(), "result", "details")
	var result, details string
	f.Need("result")
	f.Text("result", &result)
	f.Text("details", &details)
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	command, refusal := ledger.ParseAnalysis(o.Case.ID, result, details)
	if refusal != nil {
		return 0, nil, refused(refusal)
	}
	a, err := s.do(o.Account, command)
	if err != nil {
		return 0, nil, err
	}
	body, err := ownedCase(ledger.OwnedCase{Account: o.Account, Case: a.Case})
	return fasthttp.StatusOK, body, err
}
