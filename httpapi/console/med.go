package console

import (
	"cmp"
	"net/url"
	"slices"

	"pixd/actors/pix"
)

// specialReturn is a special-return case of the operator API.
type specialReturn struct {
	Account     string     `json:"account_id"`
	Infraction  string     `json:"infraction_id"`
	Details     *string    `json:"analysis_details"`
	Failed      bool       `json:"refund_failed"`
	Awaits      bool       `json:"awaits_resume"`
	ID          string     `json:"id"`
	Transaction string     `json:"transaction_id"`
	EndToEnd    string     `json:"end_to_end_id"`
	Amount      pix.Amount `json:"amount"`
	Held        pix.Amount `json:"held_amount"`
	Covered     pix.Amount `json:"covered_amount"`
	Refunded    pix.Amount `json:"refunded_amount"`
	Situation   string     `json:"situation"`
	Status      string     `json:"status"`
	Result      *string    `json:"analysis_result"`
	Defense     *struct {
		Justification string  `json:"justification"`
		Result        string  `json:"result"`
		Contact       *string `json:"contact"`
		SubmittedAt   string  `json:"submitted_at"`
	} `json:"defense"`
	OpenedAt   string  `json:"opened_at"`
	DeadlineAt *string `json:"deadline_at"`
	AnalysisAt *string `json:"analysis_due_at"`
	ClosedAt   *string `json:"closed_at"`
}

// Next is the deadline that comes next; empty: there is none.
func (k *specialReturn) Next() string {
	switch {
	case k.Status == "open" && k.DeadlineAt != nil:
		return *k.DeadlineAt
	case k.Status == "defended" && k.AnalysisAt != nil:
		return *k.AnalysisAt
	}
	return ""
}

// Open reports whether an analyst may close the case.
func (k *specialReturn) Open() bool { return k.Status == "open" || k.Status == "defended" }

// Itself is the word for what happens at the next deadline if nobody does anything.
func (k *specialReturn) Itself(waits bool) string {
	switch {
	case k.Awaits:
		return "itself_awaits"
	case k.Status == "open" && waits:
		return "itself_waits"
	case k.Status == "open":
		return "itself_agrees"
	case k.Status == "defended":
		return "itself_alerts"
	case k.Failed:
		return "itself_failed"
	case k.Held > 0:
		return "itself_refunds"
	case k.Status == "closed" && k.Result != nil && *k.Result == "AGREED" && k.Refunded < k.Amount:
		return "itself_rest"
	}
	return "itself_nothing"
}

// mostCases is how many cases of a status the desk sorts by deadline, and mostCalls how often it asks for them: a call
// reads 10,000 cases at most.
const mostCases, mostCalls = 1000, 50

// desk lists the cases that wait for somebody, by their deadlines, or those in another status.
func desk(v *visit) error {
	status := cmp.Or(v.Arg("status"), "waiting")
	var all []specialReturn
	of := map[string][]string{"waiting": {"open", "defended"}}[status]
	if of == nil {
		of = []string{status}
	}
	more := false
	for _, one := range of {
		some, left, err := v.casesIn(one, v.Arg("account_id"))
		if err != nil {
			return err
		}
		all, more = append(all, some...), more || left
	}
	slices.SortStableFunc(all, func(a, b specialReturn) int { return cmp.Compare(a.Next(), b.Next()) })
	v.Data = map[string]any{"Cases": all, "Status": status, "More": more, "All": []string{"waiting", "open", "defended", "closed", "cancelled"}}
	return nil
}

// casesIn returns the oldest cases in a status, or the newest of an account, at most mostCases. An empty account: of all.
// more: there are others, or it takes too long to find them.
func (v *visit) casesIn(status, account string) (all []specialReturn, more bool, err error) {
	q := url.Values{"limit": {"200"}, "status": {status}}
	if account != "" {
		q.Set("account_id", account)
	}
	for range mostCalls {
		var l list[specialReturn]
		if err := v.get("/admin/med?"+q.Encode(), &l); err != nil {
			return nil, false, err
		}
		if all = append(all, l.Data...); l.Next == nil {
			return all, false, nil
		}
		if q.Set("cursor", *l.Next); len(all) >= mostCases {
			break
		}
	}
	return all, true, nil
}

// showCase shows a case, with what can be done about it.
func showCase(v *visit) error {
	var k specialReturn
	err := v.get("/admin/med/"+v.id(), &k)
	v.Data = &k
	return err
}

// closeCase closes a case with the analyst's result.
func closeCase(v *visit) outcome {
	body := map[string]string{"result": v.field("result")}
	if details := v.field("details"); details != "" {
		body["details"] = details
	}
	return v.did(v.post("/admin/med/"+v.id()+"/analysis", body, nil), "case_decided")
}

// refundCase has the refunds of a case tried again, and resumeCase lets a case go on that waits since a restore.
func refundCase(v *visit) outcome {
	return v.did(v.post("/admin/med/"+v.id()+"/refund", v.named(), nil), "case_tried")
}

func resumeCase(v *visit) outcome {
	return v.did(v.post("/admin/med/"+v.id()+"/resume", v.named(), nil), "case_resumed")
}

// named is a body that says who decides.
func (v *visit) named() map[string]string { return map[string]string{"operator": v.Who.Name} }
