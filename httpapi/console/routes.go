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
		{"/approvals", decide},
		{"/accounts/search", searchAccounts},
		{"/accounts/new", openAccount},
		{"/accounts/{id}", changeAccount},
		{"/accounts/{id}/active", setActive},
		{"/accounts/{id}/pix-keys", addPixKey},
		{"/accounts/{id}/pix-keys/remove", removePixKey},
		{"/accounts/{id}/api-keys/revoke", revokeKey},
		{"/disclosures", disclose},
		{"/med/{id}/close", closeCase},
		{"/med/{id}/refund", refundCase},
		{"/med/{id}/resume", resumeCase},
		{"/deliveries", retryDelivery},
		{"/webhooks/retry", retryWebhook},
		{"/webhooks/pause", pauseWebhook},
		{"/audit", beginAudit},
		{"/snapshots", makeSnapshot},
		{"/snapshots/verify", verifySnapshot},
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
