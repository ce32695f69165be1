package console

import (
	"net/url"
	"slices"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// situations are what a payer's report may be about, and capacities what look-ups in the directory can meet.
var (
	situations = []string{"SCAM", "ACCOUNT_TAKEOVER", "COERCION", "FRAUDULENT_ACCESS", "OTHER", "UNKNOWN"}
	capacities = []string{"available", "client_limited", "bucket_exhausted"}
)

// returnAndReport shows the newest transactions of the account, and the forms that return payouts and report payments.
func returnAndReport(v *visit) error {
	var l list[item]
	var cases list[specialReturn]
	if name := v.chosen(); name != "" {
		if err := v.get("/admin/accounts/"+url.PathEscape(name)+"/transactions?limit=20&type=pix", &l); err != nil {
			v.Problem = v.failed(err).Problem
		} else if err := v.get("/admin/med?limit=20&account_id="+url.QueryEscape(name), &cases); err != nil {
			return err
		}
	}
	v.Data = map[string]any{
		"Transactions": l.Data, "Cases": cases.Data, "Situations": situations, "Tried": v.one.sandbox.newest(v.Page, v.arg("done")),
	}
	return nil
}

// returnPayout has a recipient return a payout, and reportPayment a payer report a payment.
func returnPayout(v *visit) outcome {
	var made struct {
		ID string `json:"return_id"`
	}
	return v.aboutPayment("/sim/returns", "reason", "sandbox_returned", &made, &made.ID)
}

func reportPayment(v *visit) outcome {
	var made struct {
		ID string `json:"infraction_id"`
	}
	return v.aboutPayment("/sim/infractions", "situation", "sandbox_reported", &made, &made.ID)
}

// aboutPayment asks the simulator for something about a payment, and keeps the id that it gives.
func (v *visit) aboutPayment(path, also, word string, into any, id *string) outcome {
	const page = "sandbox_returns"
	if o, unsure := v.unsure(); unsure {
		return o
	}
	v.chosen()
	n, wrong := v.sandboxAmount(true)
	if wrong != nil {
		return *wrong
	}
	body := map[string]any{"end_to_end_id": v.field("end_to_end_id")}
	if n > 0 {
		body["amount"] = n
	}
	if text := v.field(also); text != "" {
		body[also] = text
	}
	if err := v.post(path, body, into); err != nil {
		return v.failed(err)
	}
	v.one.sandbox.remember(tried{Key: v.key, Page: page, IDs: []madeID{{word, *id}}})
	return v.did(nil, word)
}

// withdrawReport has a payer withdraw a report.
func withdrawReport(v *visit) outcome {
	v.chosen()
	path := "/sim/infractions/" + url.PathEscape(v.field("infraction")) + "/cancel"
	return v.did(v.post(path, nil, nil), "sandbox_withdrawn")
}

// setCapacity sets what look-ups in the directory meet from now on.
func setCapacity(v *visit) outcome {
	err := v.call(fasthttp.MethodPut, "/sim/capacity", map[string]string{"lookups": v.field("lookups")}, nil)
	return v.did(err, "capacity_set", v.Lang.say("capacity_"+v.field("lookups")))
}

// sums are what an account moved by way of the scheme.
type sums struct {
	Account    string     `json:"account_id"`
	Sent       pix.Amount `json:"sent"`
	Received   pix.Amount `json:"received"`
	ReturnedBy pix.Amount `json:"returned_by"`
	ReturnedTo pix.Amount `json:"returned_to"`
}

// booked are the sums of an account in the scheme's book, and those that the last audit has found in the engine's records.
type booked struct {
	Account        string
	Scheme, Engine *sums // nil: it has none
}

// Agrees reports whether both books have the same.
func (b booked) Agrees() bool { return b.Engine != nil && b.Scheme != nil && *b.Engine == *b.Scheme }

// mostBooked is how many accounts the page of the books shows.
const mostBooked = 200

// bookedPayment is a payment as the scheme knows it.
type bookedPayment struct {
	Kind        string     `json:"kind"`
	Transaction *string    `json:"transaction_id"`
	EndToEnd    string     `json:"end_to_end_id"`
	Account     string     `json:"account_id"`
	Key         *string    `json:"pix_key"`
	Amount      pix.Amount `json:"amount"`
	Status      string     `json:"status"`
	Reason      *string    `json:"reason"`
	CreatedAt   string     `json:"created_at"`
	FinalAt     *string    `json:"final_at"`
	Returned    pix.Amount `json:"returned_amount"`
	Returns     []struct {
		ID     string     `json:"return_id"`
		Amount pix.Amount `json:"amount"`
		Reason string     `json:"reason"`
		At     string     `json:"at"`
	} `json:"returns"`
}

// compareBooks shows the scheme's book beside what the last audit has found in the engine's, and one payment of it.
func compareBooks(v *visit) error {
	var book struct {
		At       string `json:"at"`
		Accounts []sums `json:"accounts"`
	}
	if err := v.get("/sim/book", &book); err != nil {
		return err
	}
	var runs struct {
		Last *struct {
			Report *struct {
				At   string `json:"at"`
				Rows []sums `json:"rows"`
			} `json:"report"`
		} `json:"last"`
	}
	if err := v.get("/admin/audit/run", &runs); err != nil {
		return err
	}
	audited := ""
	var rows []sums
	if runs.Last != nil && runs.Last.Report != nil {
		audited, rows = runs.Last.Report.At, runs.Last.Report.Rows
	}
	data := map[string]any{"At": book.At, "Audited": audited, "Capacities": capacities}
	all := beside(book.Accounts, rows, v.chosen())
	data["More"] = len(all) > mostBooked
	data["Books"] = all[:min(len(all), mostBooked)]
	if id := v.Arg("id"); id != "" {
		var p bookedPayment
		if err := v.get("/sim/book/"+url.PathEscape(id), &p); err != nil {
			v.Problem = v.failed(err).Problem
		} else {
			data["Payment"] = &p
		}
	}
	v.Data = data
	return nil
}

// beside puts the sums of both books beside each other: the chosen account first, then those that do not agree.
func beside(scheme, engine []sums, chosen string) []booked {
	of := map[string]*booked{}
	at := func(account string) *booked {
		if of[account] == nil {
			of[account] = &booked{Account: account}
		}
		return of[account]
	}
	for i := range scheme {
		at(scheme[i].Account).Scheme = &scheme[i]
	}
	for i := range engine {
		b := at(engine[i].Account)
		if b.Engine = &engine[i]; b.Scheme == nil {
			b.Scheme = &sums{Account: b.Account} // the scheme's book has no line for an account that moved nothing
		}
	}
	all := make([]booked, 0, len(of))
	for _, b := range of {
		all = append(all, *b)
	}
	rank := func(b booked) string {
		switch {
		case b.Account == chosen:
			return "0"
		case !b.Agrees():
			return "1" + b.Account
		}
		return "2" + b.Account
	}
	slices.SortFunc(all, func(a, b booked) int {
		if rank(a) < rank(b) {
			return -1
		}
		return 1
	})
	return all
}
