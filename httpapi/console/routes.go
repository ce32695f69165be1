package console

import (
	"slices"
	"strings"
)

// allPages and allForms are all pages and forms besides those of logging in and out.
var (
	allPages = []pageRoute{
		{"", "overview", overview},
		{"/approvals", "approvals", approvals},
		{"/accounts", "accounts", accounts},
		{"/accounts/new", "new_account", newAccount},
		{"/accounts/{id}", "account", showAccount},
		{"/transactions", "transactions", transaction},
		{"/med", "med", desk},
		{"/med/{id}", "case", showCase},
		{"/webhooks", "webhooks", webhooks},
		{"/deliveries", "deliveries", deliveries},
		{"/alerts", "alerts", alerts},
		{"/audit", "audit", audit},
		{"/snapshots", "snapshots", snapshots},
		{"/actions", "actions", actions},
	}
	allForms = []formRoute{
		{"/approvals", "/approvals", decide},
		{"/accounts/search", "/accounts", searchAccounts},
		{"/accounts/new", "/accounts/new", openAccount},
		{"/accounts/{id}", "/accounts/{id}", changeAccount},
		{"/accounts/{id}/active", "/accounts/{id}", setActive},
		{"/accounts/{id}/pix-keys", "/accounts/{id}", addPixKey},
		{"/accounts/{id}/pix-keys/remove", "/accounts/{id}", removePixKey},
		{"/accounts/{id}/api-keys/revoke", "/accounts/{id}", revokeKey},
		{"/disclosures", "/actions", disclose},
		{"/med/{id}/close", "/med/{id}", closeCase},
		{"/med/{id}/refund", "/med/{id}", refundCase},
		{"/med/{id}/resume", "/med/{id}", resumeCase},
		{"/deliveries", "/deliveries", retryDelivery},
		{"/webhooks/retry", "/webhooks", retryWebhook},
		{"/webhooks/pause", "/webhooks", pauseWebhook},
		{"/audit", "/audit", beginAudit},
		{"/snapshots", "/snapshots", makeSnapshot},
		{"/snapshots/verify", "/snapshots", verifySnapshot},
	}
	// allFiles are the files that the operator API sends itself.
	allFiles = map[string]func(*visit) string{
		"/accounts/{id}/statement":   statementPath,
		"/transactions/{id}/receipt": receiptPath,
	}
)

// menu are the pages that every page leads to, in this order.
var menu = []string{
	"overview", "approvals", "accounts", "transactions", "med", "webhooks", "alerts", "audit", "snapshots", "actions",
}

// within says under which page of the menu another page is.
var within = map[string]string{"new_account": "accounts", "account": "accounts", "case": "med", "deliveries": "webhooks"}

// entry is a page that the menu leads to.
type entry struct {
	Path, Word string
	Here       bool
}

// Menu are the pages that the page leads to.
func (v *visit) Menu() (all []entry) {
	for _, name := range menu {
		i := slices.IndexFunc(allPages, func(p pageRoute) bool { return p.name == name })
		all = append(all, entry{allPages[i].path, name, v.Page == name || within[v.Page] == name})
	}
	if v.Merchant != nil {
		all = append(all, entry{sandboxPages[0].path, "sandbox", strings.HasPrefix(v.Page, "sandbox")})
	}
	return all
}
