package console

import (
	"net/url"
	"strconv"
)

// action is an action of the operator API.
type action struct {
	ID        string `json:"id"`
	At        string `json:"at"`
	Operator  string `json:"operator"`
	Role      string `json:"role"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Body      string `json:"body"`
	Status    *int   `json:"status"`
	RequestID string `json:"request_id"`
}

// answered says how an action was answered.
func (a action) answered(l language) string {
	if a.Status == nil {
		return l.say("not_answered")
	}
	return strconv.Itoa(*a.Status)
}

// Answered is answered for the page.
func (a action) Answered(l language) string { return a.answered(l) }

// actions shows what operators did, of one operator or of all.
func actions(v *visit) error {
	var l list[action]
	err := v.get("/admin/actions?limit=50&operator="+url.QueryEscape(v.Arg("operator"))+"&cursor="+url.QueryEscape(v.arg("cursor")), &l)
	v.Data = l
	return err
}
