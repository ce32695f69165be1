package admin

import (
	"slices"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// ownedCase returns a special-return case as merchants see it, preceded by its account, the
// scheme's id of the report, the analyst's words, and whether it waits for an operator.
func (s *service) ownedCase(o ledger.OwnedCase) (json.RawMessage, error) {
	begin, err := json.Marshal(struct {
		Account    string  `json:"account_id"`
		Infraction string  `json:"infraction_id"`
		Details    *string `json:"analysis_details"`
		Failed     bool    `json:"refund_failed"` // a refund for the case has failed for good: an operator may have it tried again
		Awaits     bool    `json:"awaits_resume"` // the case waits for an operator since a restore
	}{o.Account.String(), o.Case.Infraction, orNull(o.Case.Details), o.Case.Stopped && o.Case.Held > 0, s.awaits(o.Case)})
	if err != nil {
		return nil, err
	}
	begin[len(begin)-1] = ','
	return append(begin, httpapi.Case(o.Case)[1:]...), nil
}

// listCases is GET /admin/med?status=&account_id=: it lists the special-return cases of all accounts, the
// oldest first, or those in one status; of one account, the newest first.
func (s *service) listCases(ctx *fasthttp.RequestCtx) (int, any, error) {
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	q := ctx.QueryArgs()
	var status pix.CaseStatus
	if text := string(q.Peek("status")); text != "" {
		all := pix.CaseStatuses()
		i := slices.IndexFunc(all, func(s pix.CaseStatus) bool { return s.String() == text })
		if i < 0 {
			return 0, nil, control.Bad("status must be open, defended, closed or cancelled")
		}
		status = all[i]
	}
	account, err := s.accountAsked(ctx)
	if err != nil {
		return 0, nil, err
	}
	if account != 0 {
		return s.casesOf(ctx, account, status, limit)
	}
	after, err := readCursor(ctx, layout.IsCaseIDKey)
	if err != nil {
		return 0, nil, err
	}
	return listBehind(func() (layout.Listed[ledger.OwnedCase], error) {
		return s.History.AllCases(status, after, limit)
	}, s.ownedCase)
}

// casesOf lists the special-return cases of an account. The cursor is a number of a page.
func (s *service) casesOf(ctx *fasthttp.RequestCtx, a pix.AccountID, status pix.CaseStatus, limit int) (int, any, error) {
	page, err := readPageNumber(ctx)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.History.Cases(a, status, page, limit)
	if err != nil {
		return 0, nil, tooLong(err)
	}
	l := control.List{Data: make([]any, len(all)), Next: pageAfter(page, len(all), limit)}
	for i, k := range all {
		if l.Data[i], err = s.ownedCase(ledger.OwnedCase{Account: a, Case: k}); err != nil {
			return 0, nil, err
		}
	}
	return fasthttp.StatusOK, l, nil
}

// showCase is GET /admin/med/:id.
func (s *service) showCase(ctx *fasthttp.RequestCtx, o *ledger.OwnedCase) (int, any, error) {
	body, err := s.ownedCase(*o)
	return fasthttp.StatusOK, body, err
}

// specialReturn returns the special-return case that the path names.
func (s *service) specialReturn(ctx *fasthttp.RequestCtx) (*ledger.OwnedCase, error) {
	id, err := readPath(ctx, "id", "no case %q")
	if err != nil {
		return nil, err
	}
	o, err := s.History.AnyCase(id)
	if err == nil && o == nil {
		err = control.Missing("no case %q", id)
	}
	return o, err
}

// analyse is POST /admin/med/:id/analysis: the institution's analyst closes a case.
func (s *service) analyse(ctx *fasthttp.RequestCtx, o *ledger.OwnedCase) (int, any, error) {
	f := control.Read(ctx.PostBody(), "result", "details")
	var result, details string
	f.Need("result")
	f.Text("result", &result)
	f.Text("details", &details)
	if err := f.Fault(); err != nil {
		return 0, nil, err
	}
	command, refusal := httpapi.ParseAnalysis(o.Case.ID, result, details)
	if refusal != nil {
		return 0, nil, refused(refusal)
	}
	return s.changeCase(o, command, fasthttp.StatusOK)
}

// awaits tells whether a case waits for an operator since a restore.
func (s *service) awaits(k *ledger.Case) bool { return s.Awaits != nil && s.Awaits(k) }

// refundCase is POST /admin/med/:id/refund: the engine tries the refunds of a case again of
// which one has failed for good.
func (s *service) refundCase(ctx *fasthttp.RequestCtx, o *ledger.OwnedCase) (int, any, error) {
	return s.letGoOn(ctx, o, func(operator string) (ledger.Command, error) {
		return ledger.RetryCase{ID: o.Case.ID, Operator: operator}, nil
	})
}

// resumeCase is POST /admin/med/:id/resume: the engine goes on with a case that waits since a
// restore, once the scheme has said what was returned of its payment.
func (s *service) resumeCase(ctx *fasthttp.RequestCtx, o *ledger.OwnedCase) (int, any, error) {
	return s.letGoOn(ctx, o, func(operator string) (ledger.Command, error) {
		c := ledger.ResumeCase{ID: o.Case.ID, Operator: operator}
		if !s.awaits(o.Case) {
			return c, nil // it is refused, and the scheme need not be asked
		}
		var err error
		if c.Returned, err = s.Returns(o.Account, o.Case.EndToEnd); err != nil {
			s.Log.Warn("the returns of a payment could not be asked for", "case", o.Case.ID.String(), "error", err)
			return nil, control.Refuse(fasthttp.StatusServiceUnavailable, "the scheme could not say what was returned of the payment: try again")
		}
		return c, nil
	})
}

// letGoOn carries out an operator's command about a case. The answer is 202: what follows from
// it comes later.
func (s *service) letGoOn(ctx *fasthttp.RequestCtx, o *ledger.OwnedCase, command func(operator string) (ledger.Command, error)) (int, any, error) {
	operator, err := readOperator(ctx)
	if err != nil {
		return 0, nil, err
	}
	c, err := command(operator)
	if err != nil {
		return 0, nil, err
	}
	return s.changeCase(o, c, fasthttp.StatusAccepted)
}

// changeCase has the engine carry out a command about a case, and answers with the case.
func (s *service) changeCase(o *ledger.OwnedCase, c ledger.Command, status int) (int, any, error) {
	a, err := s.do(o.Account, c)
	if err != nil {
		return 0, nil, err
	}
	body, err := s.ownedCase(ledger.OwnedCase{Account: o.Account, Case: a.Case})
	return status, body, err
}
