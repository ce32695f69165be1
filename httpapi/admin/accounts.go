package admin

import (
	"cmp"
	"errors"
	"slices"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi/control"
)

// Fees are an account's fees on received payments and on payouts.
type Fees struct {
	CashIn  ledger.Fee `json:"cash_in"`
	CashOut ledger.Fee `json:"cash_out"`
}

// Account is an account as the operator API shows it. For a quarantined account each
// field whose value cannot be known is null.
type Account struct {
	ID                string      `json:"account_id"`
	Name              string      `json:"name"`
	Document          string      `json:"document"`
	City              *string     `json:"city"`
	Active            bool        `json:"active"`
	Fees              *Fees       `json:"fees"`
	CashOutCeiling    *pix.Amount `json:"cash_out_ceiling"`
	ApprovalThreshold *pix.Amount `json:"approval_threshold"`
	BlockCNPJOut      *bool       `json:"block_cnpj_out"`
	AuthorizedCNPJs   []string    `json:"authorized_cnpjs"`
	RepeatWindow      *string     `json:"repeat_window"`
	Balance           *pix.Amount `json:"balance"`
	Available         *pix.Amount `json:"available"`
	Pending           *pix.Amount `json:"pending"`
	MEDHeld           *pix.Amount `json:"med_held"`
	CreatedAt         string      `json:"created_at"`
	Quarantined       bool        `json:"quarantined"`
}

// show returns the account's view in its present state.
func (s *service) show(id pix.AccountID) (any, error) {
	a, err := s.do(id, ledger.ReadAccount{})
	if err != nil {
		return nil, err
	}
	known, ok := s.Registry.Account(id)
	if !ok || a.Head == nil {
		return nil, ledger.ErrInternal
	}
	return viewOfAccount(known, a.Head), nil
}

func viewOfAccount(known *registry.Account, head *ledger.Account) Account {
	t, v := head.Totals, head.Settings
	return Account{
		ID: known.ID.String(), Name: v.Name, Document: v.Document, City: &v.City, Active: known.Active,
		Fees: &Fees{v.CashInFee, v.CashOutFee}, CashOutCeiling: &v.CashOutCeiling,
		ApprovalThreshold: v.ApprovalThreshold, BlockCNPJOut: &v.BlockCNPJOut,
		AuthorizedCNPJs: append([]string{}, v.AuthorizedCNPJs...), RepeatWindow: new(v.RepeatWindow.Duration()),
		Balance: &t.Balance, Available: new(t.Available()), Pending: &t.Held, MEDHeld: &t.MEDHeld,
		CreatedAt: known.CreatedAt.String(),
	}
}

// quarantined returns the view of an account of which only the registry's part can be read.
// Name and document are those from the account's opening. Settings that may have changed
// since, and the account's money, are null, because they cannot be verified.
func quarantined(known *registry.Account) Account {
	v := Account{ID: known.ID.String(), Active: known.Active, CreatedAt: known.CreatedAt.String(), Quarantined: true}
	if known.Opening != nil {
		v.Name, v.Document = known.Opening.Name, known.Opening.Document
	}
	return v
}

// createAccount records a new account in the registry. The account's own first record is made
// by the first command to the account: by show in this request, or after a crash by a later
// command.
func (s *service) createAccount(ctx *fasthttp.RequestCtx) (int, any, error) {
	f := control.Read(ctx.PostBody(), append([]string{"account_id"}, settingNames...)...)
	f.Need("name", "document")
	opening, active, again := ledger.DefaultSettings(), true, ""
	f.Text("account_id", &again)
	if err := settings(f, &opening, &active); err != nil {
		return 0, nil, err
	}
	var lost pix.AccountID
	if f.Has("account_id") {
		var err error
		if lost, err = s.lostAccount(again); err != nil {
			return 0, nil, err
		}
	}
	a, key, err := s.register(lost, active, opening)
	if errors.Is(err, registry.ErrExists) {
		return 0, nil, control.Refuse(fasthttp.StatusConflict, "account_id: the account is there")
	}
	if err != nil {
		return 0, nil, err
	}
	created, err := s.show(a.ID)
	if err != nil {
		return 0, nil, err
	}
	s.TellScheme(key.Value)
	return fasthttp.StatusCreated, created, nil
}

// lostAccount reads the id under which an account is to be made again that a restored journal lacks.
func (s *service) lostAccount(text string) (pix.AccountID, error) {
	id, ok := pix.ParseAccountID(text)
	if !ok {
		return 0, control.Bad("account_id must be an account's id: acc_ and 13 characters")
	}
	if !s.Lost(id) && !s.Registry.Has(id) {
		return 0, control.Refuse(fasthttp.StatusUnprocessableEntity,
			"account_id: an account is made again under its id only where movements of it are kept aside since a restore; leave account_id out")
	}
	return id, nil
}

// tries is the number of random ids that register tries before it gives up, if each id is
// taken.
const tries = 4

// register makes an account, under a new id where id is 0.
func (s *service) register(id pix.AccountID, active bool, opening ledger.Settings) (a *registry.Account, key pix.Key, err error) {
	for range tries {
		key = pix.Key{Type: pix.KeyEVP, Value: s.NewEVP()}
		a, err = s.Registry.RegisterAccount(cmp.Or(id, s.NewAccountID()), active, opening, key)
		if (id != 0 || !errors.Is(err, registry.ErrExists)) && !errors.Is(err, registry.ErrKeyTaken) {
			break
		}
	}
	return a, key, err
}

func (s *service) listAccounts(ctx *fasthttp.RequestCtx) (int, any, error) {
	p, err := control.ReadPage(ctx)
	if err != nil {
		return 0, nil, err
	}
	if q := ctx.QueryArgs(); q.Has("search") {
		return s.searchAccounts(p, string(q.Peek("search")))
	}
	ids, next := s.Registry.Accounts(p.From, p.Limit)
	return s.listedAll(ids, next)
}

// listedAll answers with a page of accounts; next is the place at which the next page begins; -1: there is none.
func (s *service) listedAll(ids []pix.AccountID, next int) (int, any, error) {
	l := control.List{Data: make([]any, 0, len(ids))}
	for _, id := range ids {
		a, err := s.listed(id)
		if err != nil {
			return 0, nil, err
		}
		l.Data = append(l.Data, a)
	}
	if next >= 0 {
		l.Next = control.At(next)
	}
	return fasthttp.StatusOK, l, nil
}

// listed returns the account as a list shows it. A quarantined account is listed with the
// fields that are known, so that it does not make the whole list fail.
func (s *service) listed(id pix.AccountID) (any, error) {
	v, err := s.show(id)
	if known, ok := s.Registry.Account(id); ok && errors.Is(err, ledger.ErrQuarantined) {
		return quarantined(known), nil
	}
	return v, err
}

func (s *service) showAccount(_ *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	v, err := s.show(a.ID)
	return fasthttp.StatusOK, v, err
}

// changeAccount reads the settings, changes those that are given and writes all of them
// back. It makes one change at a time, so that no change overwrites another.
func (s *service) changeAccount(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	lock := &s.settings[uint64(a.ID)%uint64(len(s.settings))]
	lock.Lock()
	defer lock.Unlock()
	was, err := s.do(a.ID, ledger.ReadAccount{})
	if err != nil {
		return 0, nil, err
	}
	f := control.Read(ctx.PostBody(), settingNames...)
	now, active := was.Head.Settings, a.Active
	now.AuthorizedCNPJs = slices.Clone(now.AuthorizedCNPJs)
	if err := settings(f, &now, &active); err != nil {
		return 0, nil, err
	}
	if !now.Equal(&was.Head.Settings) {
		if _, err := s.do(a.ID, ledger.ChangeSettings{Settings: now}); err != nil {
			return 0, nil, err
		}
	}
	if f.Has("active") {
		if err := s.Registry.SetActive(a.ID, active); err != nil {
			return 0, nil, err
		}
	}
	v, err := s.show(a.ID)
	return fasthttp.StatusOK, v, err
}
