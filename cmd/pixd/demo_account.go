package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/goccy/go-json"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/cmd/operator"
	"pixd/httpapi/admin"
)

// The holder of the demo account, by whom a later start finds it.
const (
	demoName     = "Loja Demo"
	demoDocument = "12345678909"
)

// demoAccount returns the demo account; 0: there is none. some tells whether there is any account.
func demoAccount(r *registry.Registry) (id pix.AccountID, some bool) {
	const page = 1000
	for from := 0; ; {
		ids, next := r.Accounts(from, page)
		for _, id := range ids {
			if s, ok := r.Opening(id); ok && s.Name == demoName && s.Document == demoDocument {
				return id, true
			}
		}
		if some = some || len(ids) > 0; next < 0 {
			return 0, some
		}
		from = next
	}
}

// demonstration prepares the account of a tour.
type demonstration struct {
	operator *operator.Client
	merchant string // the merchant API's URL
	out      io.Writer
	id       string         // the account's
	key      admin.APIKey   // made for this tour
	earlier  []admin.APIKey // of earlier tours
}

// account makes the demo account, or a new key of the one with the id: the keys of earlier tours are told.
func (d *demonstration) account(ctx context.Context, id pix.AccountID, whitelist []string) error {
	if id == 0 {
		var made struct {
			ID string `json:"account_id"`
		}
		if err := d.operator.Post(ctx, "/admin/accounts", map[string]any{"name": demoName, "document": demoDocument, "city": "RECIFE"}, &made); err != nil {
			return err
		}
		d.id = made.ID
	} else {
		d.id = id.String()
		if err := d.tellEarlier(ctx); err != nil {
			return err
		}
	}
	if err := d.operator.Post(ctx, "/admin/accounts/"+d.id+"/api-keys", map[string]any{"permissions": []string{"*"}, "ip_whitelist": whitelist}, &d.key); err != nil {
		return err
	}
	if len(d.earlier) > 0 {
		if err := d.unsubscribe(ctx); err != nil {
			return err
		}
	}
	// Under the same reference the account is credited once, whichever tour of it this is.
	funds := map[string]any{"amount": demoFunds, "type": "ted", "description": "demo funds", "reference": "demo"}
	return d.operator.Post(ctx, "/admin/accounts/"+d.id+"/credits", funds, nil)
}

// tellEarlier prints the keys that the account has.
func (d *demonstration) tellEarlier(ctx context.Context) error {
	raw, err := d.operator.Do(ctx, http.MethodGet, "/admin/accounts/"+d.id+"/api-keys?limit=200", nil)
	if err != nil {
		return err
	}
	var all struct {
		Data []admin.APIKey `json:"data"`
		Next *string        `json:"next_cursor"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("the keys of the demo account: %w", err)
	}
	d.earlier = all.Data
	fmt.Fprintf(d.out, "\nThe demo account has these keys from before, whose secrets are not kept (pixd key revoke ends one):\n")
	for i := range d.earlier {
		k := &d.earlier[i]
		state := ""
		if !k.Active {
			state = "  revoked"
		}
		fmt.Fprintf(d.out, "  %s  made %s%s\n", k.ClientID, moment(k.CreatedAt), state)
	}
	if all.Next != nil {
		fmt.Fprintln(d.out, "  and more: pixd key list --account "+d.id)
	}
	return nil
}

// unsubscribe ends the webhooks of earlier tours, so that the tour's listener gets each event once, signed with the
// secret that it knows.
func (d *demonstration) unsubscribe(ctx context.Context) error {
	var all struct {
		Data []struct{ ID, URL string } `json:"data"`
	}
	if err := d.ask(ctx, http.MethodGet, "/webhooks", &all); err != nil {
		return err
	}
	for _, w := range all.Data {
		if w.URL != tourHook {
			continue
		}
		if err := d.ask(ctx, http.MethodDelete, "/webhooks/"+w.ID, nil); err != nil {
			return err
		}
	}
	return nil
}

// tourHook is where the tour's listener takes webhooks.
const tourHook = "http://" + listenAddress + "/"

// ask sends a request to the merchant API, with the tour's key.
func (d *demonstration) ask(ctx context.Context, method, path string, into any) error {
	ctx, over := context.WithTimeout(ctx, 10*time.Second)
	defer over()
	r, err := http.NewRequestWithContext(ctx, method, d.merchant+"/api/external"+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "ApiKey "+d.key.ClientID+":"+d.key.ClientSecret)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	err = errors.Join(err, answer.Body.Close())
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %d", method, path, answer.StatusCode)
	case into == nil:
		return nil
	}
	return json.Unmarshal(body, into)
}
