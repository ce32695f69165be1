package httpapi

import (
	"slices"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// listCases is GET /med: the account's special-return cases, the newest first.
func listCases(c *call) {
	q := c.query("page", "per_page", "status")
	page, perPage := q.pages()
	status := q.caseStatus()
	if q.answered(c) {
		return
	}
	all, err := c.History.Cases(c.key.Account, status, page, perPage)
	if err != nil {
		c.failed(err)
		return
	}
	c.list(len(all), page, perPage, func(o *object, i int) { o.specialReturn(all[i]) })
}

// caseStatus reads the parameter status; 0: it is not given.
func (q *query) caseStatus() pix.CaseStatus {
	text, given := q.values["status"]
	all := pix.CaseStatuses()
	i := slices.IndexFunc(all, func(s pix.CaseStatus) bool { return s.String() == text })
	switch {
	case !given:
		return 0
	case i < 0:
		q.refuse("status", "status must be open, defended, closed or cancelled")
		return 0
	}
	return all[i]
}

// readCase is GET /med/:id.
func readCase(c *call) {
	k, err := c.History.Case(c.key.Account, PathText(c.ctx, "id"))
	switch {
	case err != nil:
		c.failed(err)
	case k == nil:
		c.unknownCase()
	default:
		status, body := renderCase(k, c.camel)
		answer(c.ctx, status, body)
	}
}

// unknownCase answers 404. The answer is the same for another merchant's case as for an id
// that no case has.
func (c *call) unknownCase() {
	answerErrors(c.ctx, fasthttp.StatusNotFound, "not_found", "case not found")
}

// defendCase is POST /med/:id/defense.
func defendCase(c *call) {
	id, _ := pix.ParseCaseID(PathText(c.ctx, "id")) // no case has the id zero, which stands for any name of another form
	var f defenseForm
	c.body.fields(func(name, value []byte) {
		switch string(name) {
		case "justification":
			f.Justification = readText(value)
		case "result":
			f.Result = readText(value)
		case "contact":
			f.Contact = readText(value)
		}
	})
	command, refusal := f.parse(id)
	if refusal != nil {
		c.malformed(refusal, refuseOther)
		return
	}
	command.Claim = c.claimed()
	c.do(command, refuseOther)
}

// renderCase returns the answer that shows one special-return case.
func renderCase(k *ledger.Case, camel bool) (int, []byte) {
	o := opened(camel, 1024)
	o.flag("worked", true)
	o.specialReturn(k)
	return fasthttp.StatusOK, o.closed()
}

// Case returns a special-return case as JSON, as merchants see it.
func Case(k *ledger.Case) []byte {
	o := opened(false, 1024)
	o.specialReturn(k)
	return o.closed()
}

// specialReturn writes all members of a special-return case; a member that does not apply or
// is not known yet is null.
func (o *object) specialReturn(k *ledger.Case) {
	o.text("id", k.ID.String())
	o.text("transaction_id", k.Payment())
	o.text("end_to_end_id", k.EndToEnd)
	o.number("amount", int64(k.Amount))
	o.number("held_amount", int64(k.Held))
	o.number("covered_amount", int64(k.Covered))
	o.number("refunded_amount", int64(k.Refunded))
	o.text("reason", "REFUND_REQUEST")
	o.text("situation", k.Situation)
	o.text("status", k.Status.String())
	o.textOrNull("analysis_result", k.Result.String())
	var defended pix.Millis
	if d := k.Defense; d == nil {
		o.null("defense")
	} else {
		defended = d.SubmittedAt
		o.inner("defense")
		o.text("justification", d.Justification)
		o.text("result", d.Result.String())
		o.textOrNull("contact", d.Contact)
		o.instant("submitted_at", d.SubmittedAt)
		o.end()
	}
	o.instant("opened_at", k.OpenedAt)
	o.instant("deadline_at", k.DeadlineAt)
	o.instant("analysis_due_at", k.AnalysisAt)
	o.instant("defended_at", defended)
	o.instant("closed_at", k.ClosedAt)
}
