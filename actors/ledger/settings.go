package ledger

import (
	"slices"
	"unicode/utf8"

	"pixd/actors/pix"
)

// Settings are the settings of an account that an operator sets through the operator API.
// Whether the account is active is not among them: the registry has that.
type Settings struct {
	Name              string      `cbor:"1,keyasint"`           // 1 to 100 characters
	Document          string      `cbor:"2,keyasint"`           // CPF digits or CNPJ
	City              string      `cbor:"3,keyasint,omitempty"` // 1 to 60 characters
	CashInFee         Fee         `cbor:"4,keyasint,omitempty"`
	CashOutFee        Fee         `cbor:"5,keyasint,omitempty"`
	CashOutCeiling    pix.Amount  `cbor:"6,keyasint,omitempty"` // largest payout in base units, without the fee; 0: no limit
	ApprovalThreshold *pix.Amount `cbor:"7,keyasint,omitempty"` // in base units: payouts of this amount or more wait for an operator's approval; nil: no payout waits
	BlockCNPJOut      bool        `cbor:"8,keyasint,omitempty"`
	AuthorizedCNPJs   []string    `cbor:"9,keyasint,omitempty"`
	RepeatWindow      pix.Millis  `cbor:"10,keyasint"` // how long after its settlement a payout makes an equal request a repeat; MinRepeatWindow to MaxRepeatWindow
}

// The bounds of the repeat window: the time after a payout's settlement in which an equal
// request counts as a repeat. The upper bound is as long as the scheme accepts an
// end-to-end id after the minute in it (12 h).
const (
	MinRepeatWindow = pix.Millis(60 * 1000)
	MaxRepeatWindow = pix.Millis(12 * 60 * 60 * 1000)
)

// DefaultCity is the merchant city of a QR code where the operator names none.
const DefaultCity = "SAO PAULO"

// DefaultSettings are the settings of an account for which the operator set only the
// holder.
func DefaultSettings() Settings {
	return Settings{City: DefaultCity, RepeatWindow: MaxRepeatWindow}
}

// Equal tells whether two settings are the same.
func (s *Settings) Equal(other *Settings) bool {
	a, b := *s, *other
	sameThreshold := a.ApprovalThreshold == b.ApprovalThreshold ||
		a.ApprovalThreshold != nil && b.ApprovalThreshold != nil && *a.ApprovalThreshold == *b.ApprovalThreshold
	return a.Name == b.Name && a.Document == b.Document && a.City == b.City &&
		a.CashInFee == b.CashInFee && a.CashOutFee == b.CashOutFee && a.CashOutCeiling == b.CashOutCeiling &&
		sameThreshold && a.BlockCNPJOut == b.BlockCNPJOut && a.RepeatWindow == b.RepeatWindow &&
		slices.Equal(a.AuthorizedCNPJs, b.AuthorizedCNPJs)
}

const maxAuthorizedCNPJs = 1000

// Normalise removes the punctuation of documents and checks all settings: it returns
// RefuseSetting with the first invalid field, or nil.
func (s *Settings) Normalise() *Refusal {
	ok := false
	switch n := utf8.RuneCountInString(s.Name); {
	case !utf8.ValidString(s.Name) || n < 1 || n > 100:
		return refuseField(RefuseSetting, "name", "name must be 1 to 100 characters")
	}
	if s.Document, ok = pix.CleanHolder(s.Document); !ok {
		return refuseField(RefuseSetting, "document", "document must be a CPF (11 digits) or a CNPJ (14 characters)")
	}
	if n := utf8.RuneCountInString(s.City); !utf8.ValidString(s.City) || n < 1 || n > 60 {
		return refuseField(RefuseSetting, "city", "city must be 1 to 60 characters")
	}
	if !s.CashInFee.valid() {
		return refuseField(RefuseSetting, "fees.cash_in", "fixed must be 0 to 99999999999900 base units and bps 0 to 10000")
	}
	if !s.CashOutFee.valid() {
		return refuseField(RefuseSetting, "fees.cash_out", "fixed must be 0 to 99999999999900 base units and bps 0 to 10000")
	}
	if s.CashOutCeiling < 0 {
		return refuseField(RefuseSetting, "cash_out_ceiling", "cash_out_ceiling must be 0 (none) or a positive amount in base units")
	}
	if s.ApprovalThreshold != nil && *s.ApprovalThreshold < 0 {
		return refuseField(RefuseSetting, "approval_threshold", "approval_threshold must be null or an amount in base units")
	}
	if s.RepeatWindow < MinRepeatWindow || s.RepeatWindow > MaxRepeatWindow {
		return refuseField(RefuseSetting, "repeat_window", "repeat_window must be from 1m to 12h")
	}
	return s.normaliseCNPJs()
}

func (s *Settings) normaliseCNPJs() *Refusal {
	if len(s.AuthorizedCNPJs) > maxAuthorizedCNPJs {
		return refuseField(RefuseSetting, "authorized_cnpjs", "authorized_cnpjs takes at most 1000 entries")
	}
	list := make([]string, 0, len(s.AuthorizedCNPJs))
	for _, c := range s.AuthorizedCNPJs {
		c, _ = pix.CleanHolder(c)
		if !pix.IsCNPJ(c) {
			return refuseField(RefuseSetting, "authorized_cnpjs", "authorized_cnpjs must hold CNPJs of 14 characters")
		}
		list = append(list, c)
	}
	slices.Sort(list)
	s.AuthorizedCNPJs = slices.Compact(list)
	return nil
}

// authorized tells whether payouts to the CNPJ are allowed while BlockCNPJOut is on.
func (s *Settings) authorized(cnpj string) bool {
	_, found := slices.BinarySearch(s.AuthorizedCNPJs, cnpj)
	return found
}

// OpenAccount opens the account under its settings, which must have passed
// Settings.Normalise.
type OpenAccount struct{ Settings Settings }

func (c OpenAccount) gather(*gathering) (decider, error) { return c, nil }

// decide adds the account's first record. The one refusal: the account is opened already.
func (c OpenAccount) decide(d *draft) Decision {
	if d.account.Seq != 0 {
		return refuseWith(refuse(RefuseAlreadyThere, "account is opened already"))
	}
	d.mustAdd(AccountOpened, Body{Settings: &c.Settings})
	return d.showHead()
}

// ChangeSettings replaces the settings; the new ones must have passed Settings.Normalise.
type ChangeSettings struct{ Settings Settings }

func (c ChangeSettings) gather(g *gathering) (decider, error) { return g.needsNoFacts(c) }

func (c ChangeSettings) decide(d *draft) Decision {
	d.mustAdd(SettingsChanged, Body{Settings: &c.Settings})
	return d.showHead()
}

// ReadAccount reads the account's head: settings and totals.
type ReadAccount struct{}

func (ReadAccount) traits() Traits { return Traits{ReadsHead: true} }

func (c ReadAccount) gather(g *gathering) (decider, error) { return g.needsNoFacts(c) }

func (ReadAccount) decide(d *draft) Decision { return d.showHead() }

// showHead is the decision whose answer shows the account's head.
func (d *draft) showHead() Decision {
	out := d.done(nil)
	out.ShowsHead = true
	return out
}

// Fee is the price of one movement of money: a fixed part and a share of the amount.
type Fee struct {
	Fixed pix.Amount `cbor:"1,keyasint,omitempty" json:"fixed"` // base units, 0 to MaxAmount
	BPS   int64      `cbor:"2,keyasint,omitempty" json:"bps"`   // basis points, 0 to 10 000
}

// maxBPS is 100 % in basis points.
const maxBPS = 10_000

// Of returns the fee on amount (0 to MaxAmount), rounded half up to a base unit.
func (f Fee) Of(amount pix.Amount) pix.Amount {
	// The product is at most 1e14 * 1e4 + 5e3, which fits into an int64.
	return f.Fixed + (amount*pix.Amount(f.BPS)+maxBPS/2)/maxBPS
}

// valid tells whether the fee can be charged on any amount without overflow.
func (f Fee) valid() bool {
	return f.Fixed >= 0 && f.Fixed <= pix.MaxAmount && f.BPS >= 0 && f.BPS <= maxBPS
}
