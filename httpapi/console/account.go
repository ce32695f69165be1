package console

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
)

// item is a transaction as the operator API shows it.
type item struct {
	payout
	ID          string      `json:"id"`
	EndToEnd    *string     `json:"end_to_end_id"`
	ExternalID  *string     `json:"external_id"`
	Txid        *string     `json:"txid"`
	Type        string      `json:"type"`
	Direction   string      `json:"direction"`
	Status      string      `json:"status"`
	Fee         pix.Amount  `json:"fee_amount"`
	Payer       *string     `json:"payer_document"`
	PayerISPB   *string     `json:"payer_ispb"`
	PayerBank   *string     `json:"payer_bank_name"`
	Receiving   *string     `json:"receiving_key"`
	Reason      *string     `json:"reason_code"`
	DuplicateOf *string     `json:"duplicate_of"`
	Returned    *pix.Amount `json:"returned_amount"`
	Refunded    *pix.Amount `json:"refunded_amount"`
	ReturnFor   *string     `json:"return_reason"`
	Case        *string     `json:"case_id"`
	Original    *string     `json:"original_transaction_id"`
	CompletedAt *string     `json:"completed_at"`
}

// Settled reports whether the transaction has moved money.
func (i *item) Settled() bool { return i.CompletedAt != nil }

// markOf names a PIX key in a form by what the page shows of it. A key may be a document, which is not in a page, nor
// anything that one could be guessed by; and a form that is kept over a login must name the same key after it.
func markOf(k admin.PixKey) string { return k.CreatedAt + " " + maskedKey(&visit{}, "", k.Key) }

// accountPage is what the page of an account shows.
type accountPage struct {
	Account      admin.Account
	Settings     []setting
	Keys         []admin.PixKey
	APIKeys      []admin.APIKey
	Webhooks     []admin.Webhook
	Cases        []specialReturn
	Transactions list[item]
	More         map[string]bool // of which there are more than the page shows: cases, webhooks, pix_keys, api_keys
	Filters      []filter
	KeyTypes     []string
}

// keyTypes are the types of PIX keys.
var keyTypes = []string{"evp", "email", "phone", "cpf", "cnpj"}

// filter is a parameter by which transactions are selected, and the values that it may have.
type filter struct {
	Name   string
	Word   string
	Values []string // empty: any text
}

// transactionFilters select transactions of an account.
var transactionFilters = []filter{
	{"status", "state", []string{"settled", "rejected", "failed", "processing", "active"}},
	{"direction", "direction", []string{"inbound", "outbound"}},
	{"type", "type", []string{"pix", "ted", "internal"}},
	{"date_from", "date_from", nil},
	{"date_to", "date_to", nil},
	{"external_id", "external_id", nil},
}

// showAccount shows an account with all that belongs to it.
func showAccount(v *visit) error {
	p, path := accountPage{Filters: transactionFilters, KeyTypes: keyTypes}, "/admin/accounts/"+v.id()
	if err := v.get(path, &p.Account); err != nil {
		return err
	}
	p.Settings = settingsOf(&p.Account, v.Lang)
	q := url.Values{"limit": {"25"}}
	for _, f := range transactionFilters {
		if text := v.Arg(f.Name); text != "" {
			q.Set(f.Name, text)
		}
	}
	if cursor := v.arg("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	var keys list[admin.PixKey]
	var credentials list[admin.APIKey]
	var hooks list[admin.Webhook]
	var cases list[specialReturn]
	of := url.QueryEscape(p.Account.ID)
	for _, read := range []struct {
		path string
		into any
	}{
		{path + "/pix-keys?limit=200", &keys},
		{path + "/api-keys?limit=200", &credentials},
		{"/admin/webhooks?limit=200&account_id=" + of, &hooks},
		{"/admin/med?limit=20&account_id=" + of, &cases},
		{path + "/transactions?" + q.Encode(), &p.Transactions},
	} {
		if err := v.get(read.path, read.into); err != nil {
			return err
		}
	}
	p.More = map[string]bool{"cases": cases.Next != nil, "webhooks": hooks.Next != nil, "pix_keys": keys.Next != nil, "api_keys": credentials.Next != nil}
	p.Keys, p.APIKeys, p.Webhooks, p.Cases = keys.Data, credentials.Data, hooks.Data, cases.Data
	v.Data = p
	return nil
}

// addPixKey reserves a PIX key for an account; a random one needs no name.
func addPixKey(v *visit) outcome {
	body := map[string]string{"key_type": v.field("key_type")}
	if key := v.field("pix_key"); key != "" {
		body["key"] = key
	}
	return v.did(v.post("/admin/accounts/"+v.id()+"/pix-keys", body, nil), "key_made")
}

// removePixKey gives a PIX key of an account back.
func removePixKey(v *visit) outcome {
	path := "/admin/accounts/" + v.id() + "/pix-keys"
	var l list[admin.PixKey]
	if err := v.get(path+"?limit=200", &l); err != nil {
		return v.failed(err)
	}
	mark := v.field("pix_key_mark")
	those := slices.DeleteFunc(l.Data, func(k admin.PixKey) bool { return markOf(k) != mark })
	switch len(those) {
	case 0:
		return outcome{Problem: v.Lang.say("key_gone")}
	case 1:
		return v.did(v.call(fasthttp.MethodDelete, path+"/"+url.PathEscape(those[0].Key), nil, nil), "key_removed")
	}
	return outcome{Problem: v.Lang.say("keys_alike")}
}

// revokeKey revokes a credential of an account.
func revokeKey(v *visit) outcome {
	return v.did(v.call(fasthttp.MethodDelete, "/admin/api-keys/"+url.PathEscape(v.field("client_id")), nil, nil), "key_revoked")
}

// file returns a handler that sends a file as the operator API sends it, such as a statement. One with whole documents is
// put on record before.
func (c *console) file(path func(v *visit) string) fasthttp.RequestHandler {
	return c.headed(func(ctx *fasthttp.RequestCtx) {
		v := c.visitor(ctx)
		if v == nil {
			toLogin(ctx)
			return
		}
		api := path(v)
		if strings.Contains(api, "/statement?") {
			if err := v.post("/admin/disclosures", map[string]string{"subject": v.id()}, nil); err != nil {
				v.Page = "problem_page"
				status, text := v.judge(err)
				v.Problem = text
				c.draw(ctx, status, v)
				return
			}
		}
		ctx.Request.SetRequestURI(api)
		control.As(ctx, v.Who)
		c.API(ctx)
	})
}

// statementPath is the path of the operator API of the statement that is asked for.
func statementPath(v *visit) string {
	q := url.Values{}
	for _, name := range []string{"from", "to", "format"} {
		if text := v.Arg(name); text != "" {
			q.Set(name, text)
		}
	}
	return "/admin/accounts/" + v.id() + "/statement?" + q.Encode()
}

// receiptPath is the path of the operator API of the receipt that is asked for.
func receiptPath(v *visit) string { return "/admin/transactions/" + v.id() + "/receipt" }

// lifeEntry is an entry of a transaction's line of time.
type lifeEntry struct{ admin.LifeEntry }

// life is a transaction with its line of time.
type life struct {
	Transaction item        `json:"transaction"`
	Data        []lifeEntry `json:"data"`
	Complete    bool        `json:"complete"`
}

// transaction shows a transaction by any of its ids, and its whole life.
func transaction(v *visit) error {
	id := v.Arg("id")
	if id == "" {
		return nil
	}
	var l life
	err := v.get("/admin/transactions/"+url.PathEscape(id)+"/history", &l)
	var refused *problem
	if errors.As(err, &refused) {
		_, v.Problem = v.judge(err) // beside the search, to be written anew
		return nil
	}
	if err != nil {
		return err
	}
	v.Data = &l
	return nil
}

// Linked is the page about what an entry names; empty: there is none.
func (e *lifeEntry) Linked() string {
	switch {
	case e.ID == "":
		return ""
	case strings.HasPrefix(e.Kind, "case_"):
		return "/med/" + url.PathEscape(e.ID)
	case strings.HasPrefix(e.Kind, "refund") || strings.HasPrefix(e.Kind, "return"):
		return "/transactions?id=" + url.QueryEscape(e.ID)
	}
	return ""
}

// State is the word for the status after an entry.
func (e *lifeEntry) State() string {
	if strings.HasPrefix(e.Kind, "case_") {
		return "case_" + e.Status
	}
	return e.Status
}
