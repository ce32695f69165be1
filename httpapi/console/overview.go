package console

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// payout is a payout of the operator API's lists.
type payout struct {
	Account       string     `json:"account_id"`
	State         string     `json:"state"`
	TransactionID string     `json:"transaction_id"`
	Key           string     `json:"recipient_key"`
	Amount        pix.Amount `json:"amount"`
	CreatedAt     string     `json:"created_at"`
	ApprovedBy    []string   `json:"approved_by"`
	Needed        int        `json:"approvals_needed"`
}

// page of a list.
type list[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next_cursor"`
}

// overview shows how much waits.
func (c *console) overview(ctx *fasthttp.RequestCtx, v *view) error {
	v.Page, v.Title = "overview", "overview"
	counts := map[string]string{}
	for state, name := range map[string]string{"pending_approval": "waiting", "sending": "sending", "queued": "queued"} {
		var l list[payout]
		if err := c.call(ctx, v.Who, "GET", "/admin/payouts?limit=200&status="+state, nil, &l); err != nil {
			return err
		}
		counts[name] = strconv.Itoa(len(l.Data))
		if l.Next != nil {
			counts[name] += "+"
		}
	}
	v.Data = counts
	return nil
}

// approvals lists the payouts that wait for approval.
func (c *console) approvals(ctx *fasthttp.RequestCtx, v *view) error {
	v.Page, v.Title = "approvals", "approvals"
	var l list[payout]
	err := c.call(ctx, v.Who, "GET", "/admin/payouts?limit=50&status=pending_approval&cursor="+url.QueryEscape(string(ctx.QueryArgs().Peek("cursor"))), nil, &l)
	v.Data = l
	return err
}

// decide approves or declines the payouts that were chosen, one after the other, until one is refused.
func (c *console) decide(ctx *fasthttp.RequestCtx, who control.Operator) outcome {
	lang, word := languageOf(ctx), string(ctx.PostArgs().Peek("word"))
	chosen := ctx.PostArgs().PeekMulti("payout")
	if len(chosen) == 0 || word != "approve" && word != "decline" {
		return outcome{Problem: lang.say("none_chosen")}
	}
	done, first := 0, 0
	for _, id := range chosen {
		var p payout
		err := c.call(ctx, who, "POST", "/admin/payouts/"+url.PathEscape(string(id))+"/"+word, map[string]string{"operator": who.Name}, &p)
		var refused *problem
		switch {
		case errors.As(err, &refused):
			return outcome{Notice: said(lang, word, done, first), Problem: string(id) + ": " + refused.message}
		case err != nil:
			return outcome{Notice: said(lang, word, done, first), Problem: lang.say("unknown", string(id))}
		case p.State == "pending_approval":
			first++
		default:
			done++
		}
	}
	return outcome{Notice: said(lang, word, done, first)}
}

// said says how many payouts were decided, and how many need another operator.
func said(lang language, word string, done, first int) string {
	text := ""
	if done > 0 {
		text = lang.say(word+"d", done)
	}
	if first > 0 {
		text += " " + lang.say("first", first)
	}
	return text
}

// account is an account of the operator API.
type account struct {
	ID        string      `json:"account_id"`
	Name      string      `json:"name"`
	Document  string      `json:"document"`
	Active    bool        `json:"active"`
	Balance   *pix.Amount `json:"balance"`
	Available *pix.Amount `json:"available"`
	Pending   *pix.Amount `json:"pending"`
	MEDHeld   *pix.Amount `json:"med_held"`
	CreatedAt string      `json:"created_at"`
}

func (c *console) accounts(ctx *fasthttp.RequestCtx, v *view) error {
	v.Page, v.Title = "accounts", "accounts"
	var l list[account]
	err := c.call(ctx, v.Who, "GET", "/admin/accounts?cursor="+url.QueryEscape(string(ctx.QueryArgs().Peek("cursor"))), nil, &l)
	v.Data = l
	return err
}

func (c *console) account(ctx *fasthttp.RequestCtx, v *view) error {
	v.Page, v.Title = "account", "account"
	id, _ := ctx.UserValue("id").(string)
	var a account
	err := c.call(ctx, v.Who, "GET", "/admin/accounts/"+id, nil, &a)
	v.Data = a
	return err
}

// transaction shows a transaction by any of its ids.
func (c *console) transaction(ctx *fasthttp.RequestCtx, v *view) error {
	v.Page, v.Title = "transaction", "transaction"
	id := string(ctx.QueryArgs().Peek("id"))
	if id == "" {
		return nil
	}
	fields := map[string]any{}
	err := c.call(ctx, v.Who, "GET", "/admin/transactions/"+url.PathEscape(id), nil, &fields)
	v.Data = fields
	return err
}

// action is an action of the operator API.
type action struct {
	At, Operator, Method, Path string
	Status                     *int
}

func (c *console) actions(ctx *fasthttp.RequestCtx, v *view) error {
	v.Page, v.Title = "actions", "actions"
	var l list[action]
	err := c.call(ctx, v.Who, "GET", "/admin/actions?cursor="+url.QueryEscape(string(ctx.QueryArgs().Peek("cursor"))), nil, &l)
	v.Data = l
	return err
}
