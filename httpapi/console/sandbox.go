package console

import (
	"slices"
	"sync"

	"github.com/fasthttp/router"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
)

// The sandbox makes merchants, customers and the simulated scheme act. It is there where Options.Merchant is.
var (
	sandboxPages = []pageRoute{
		{"/sandbox", "sandbox", chargeAndPay},
		{"/sandbox/payout", "sandbox_payout", payOut},
		{"/sandbox/returns", "sandbox_returns", returnAndReport},
		{"/sandbox/book", "sandbox_book", compareBooks},
		{"/sandbox/webhook", "sandbox_webhook", showReceived},
	}
	sandboxForms = []formRoute{
		{"/sandbox/charge", "/sandbox", makeCharge},
		{"/sandbox/pay", "/sandbox", payCharge},
		{"/sandbox/pay-key", "/sandbox", payKey},
		{"/sandbox/payout", "/sandbox/payout", makePayout},
		{"/sandbox/returns", "/sandbox/returns", returnPayout},
		{"/sandbox/infractions", "/sandbox/returns", reportPayment},
		{"/sandbox/infractions/cancel", "/sandbox/returns", withdrawReport},
		{"/sandbox/capacity", "/sandbox/book", setCapacity},
		{"/sandbox/webhook", "/sandbox/webhook", subscribeOwn},
		{"/sandbox/webhook/remove", "/sandbox/webhook", unsubscribeOwn},
	}
)

// sandboxRoutes adds the sandbox to a router.
func (c *console) sandboxRoutes(r *router.Router) {
	for _, p := range sandboxPages {
		r.GET(Path+p.path, c.page(p))
	}
	for _, f := range sandboxForms {
		r.POST(Path+f.path, c.form(f))
	}
	r.POST(Path+receivedPath+"{random}", c.headed(c.receive))
}

// SandboxMenu are the pages of the sandbox.
func (v *visit) SandboxMenu() (all []entry) {
	for _, p := range sandboxPages {
		all = append(all, entry{p.path, p.name, p.name == v.Page})
	}
	return all
}

// sandbox is what a session has tried with the simulator. It is in memory alone, and ends with the session.
type sandbox struct {
	mu      sync.Mutex
	account string                 // that was chosen last
	keys    map[string]merchantKey // by the account
	tried   []tried                // at most mostTried, the oldest first
	hook    *receiver              // nil: no webhook leads to this session
}

const (
	// mostTried is how many answers to forms of the sandbox a session remembers.
	mostTried = 50
	// mostMerchantKeys is how many accounts' credentials a session has at once. Before one more, they are revoked.
	mostMerchantKeys = 50
)

// tried is what a form of the sandbox has led to.
type tried struct {
	Key, Page   string // of the form, and the page that shows it
	Status      int    // of the merchant API's answer; 0: the merchant API was not asked
	Body        string // the answer, laid out for people
	Transaction string // its public id; empty: there is none
	Charge      charge // that was made
	Steps       []step // payments of customers
	IDs         []madeID
}

// step is a payment of a customer.
type step struct {
	Word     string // what it is
	EndToEnd string
	Amount   pix.Amount
	Problem  string // why it was refused
}

// madeID is an id that the simulator has given.
type madeID struct{ Word, ID string }

// remember keeps what a form has led to.
func (s *sandbox) remember(t tried) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried = append(s.tried, t); len(s.tried) > mostTried {
		s.tried = slices.Delete(s.tried, 0, 1)
	}
}

// newest returns what the form with a key has led to, else what was tried last on a page; nil: nothing was.
func (s *sandbox) newest(page, key string) *tried {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wanted := range []func(t *tried) bool{
		func(t *tried) bool { return t.Key == key }, func(t *tried) bool { return t.Page == page },
	} {
		for i := range slices.Backward(s.tried) {
			if t := s.tried[i]; wanted(&t) {
				return &t
			}
		}
	}
	return nil
}

// chosen keeps and returns the account that a form or a page's address names, else the one that was chosen before.
func (v *visit) chosen() string {
	name := v.Arg("account")
	if v.ctx.IsPost() {
		name = v.field("account")
	}
	s := &v.one.sandbox
	s.mu.Lock()
	defer s.mu.Unlock()
	if name != "" {
		s.account = name
	}
	return s.account
}

// Account is the account that was chosen last.
func (v *visit) Account() string { return v.chosen() }

// Accounts are some accounts to choose from.
func (v *visit) Accounts() []admin.Account {
	var l list[admin.Account]
	if err := v.get("/admin/accounts?limit=50", &l); err != nil {
		return nil // any other can be typed in
	}
	return l.Data
}

// sandboxAmount reads the amount of a form; 0: it is empty and may be.
func (v *visit) sandboxAmount(may bool) (pix.Amount, *outcome) {
	text := v.field("amount")
	if text == "" && may {
		return 0, nil
	}
	n, ok := v.Lang.parseMoney(text)
	if !ok || n == 0 {
		return 0, &outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("amount"))}
	}
	return n, nil
}

// unsure refuses a form of an earlier session: it may have been carried out then, and the simulator cannot tell it from a new one.
func (v *visit) unsure() (outcome, bool) {
	if v.one.made(v.key) {
		return outcome{}, false
	}
	return outcome{Problem: v.Lang.say("sandbox_unsure")}, true
}
