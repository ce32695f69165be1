package sim

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme/brcode"
	"pixd/actors/scheme/sim"
	"pixd/actors/strictjson"
	"pixd/httpapi/control"
)

const maxText = 140 // largest number of characters of a payer's name or document

// first makes the first of the payments whose PIX key is registered with the simulator.
func (s *service) first(ctx context.Context, payments []sim.Payment) (string, pix.Amount, error) {
	for _, p := range payments {
		endToEnd, amount, err := s.sim.Pay(ctx, p)
		switch {
		case err == nil:
			return endToEnd, amount, nil
		case errors.Is(err, sim.ErrEndToEnd):
			return "", 0, control.Refuse(fasthttp.StatusConflict, "end_to_end_id belongs to a payment of another kind")
		case !errors.Is(err, sim.ErrUnknownKey):
			return "", 0, err
		}
	}
	return "", 0, control.Missing("no account has this PIX key")
}

// read turns the body into payments, one for each PIX key that the text in the body may mean.
func (s *service) read(body []byte) ([]sim.Payment, error) {
	f := control.Read(body, "qr_code", "pix_key", "amount", "txid", "paid_at", "payer", "end_to_end_id")
	var p sim.Payment
	name := s.payee(f, &p)
	amount(f, &p.Amount)
	if p.Amount == 0 {
		f.Need("amount")
	}
	var paid time.Time
	if f.Instant("paid_at", &paid) {
		if p.At = pix.Millis(paid.UnixMilli()); p.At > s.now() {
			f.Refuse("paid_at", "in the past")
		}
	}
	if f.Text("end_to_end_id", &p.EndToEnd) && !pix.ValidEndToEnd(p.EndToEnd) {
		f.Refuse("end_to_end_id", "E, an ISPB, yyyyMMddHHmm and 11 letters or digits")
	}
	payer(f.Object("payer", "name", "document", "ispb"), &p)
	if err := f.Fault(); err != nil {
		return nil, err
	}
	keys := meant(name)
	if len(keys) == 0 {
		return nil, control.Missing("no account has this PIX key")
	}
	payments := make([]sim.Payment, len(keys))
	for i, k := range keys {
		payments[i] = p
		payments[i].Key = k
	}
	return payments, nil
}

// amount reads the amount of a payment, or of a part of one.
func amount(f strictjson.Form, into *pix.Amount) {
	if f.Integer("amount", (*int64)(into)) && (*into < 1 || *into > pix.MaxAmount) {
		f.Refuse("amount", "1 to 99999999999900 base units")
	}
}

// payee reads the payee, either from a QR code or from a PIX key. From a QR code it also
// takes the txid, the description and the amount. It returns the key as it is written in the
// body.
func (s *service) payee(f strictjson.Form, p *sim.Payment) string {
	var text, key string
	if f.Has("qr_code") == f.Has("pix_key") {
		f.Refuse("qr_code or pix_key", "given, one of the two")
	}
	if f.Text("pix_key", &key) {
		if f.Text("txid", &p.TxID) && !pix.IsTxid(p.TxID) {
			f.Refuse("txid", "1 to 35 letters and digits")
		}
		return key
	}
	if f.Has("txid") {
		f.Refuse("txid", "left out: the code states it")
	}
	if !f.Text("qr_code", &text) {
		return ""
	}
	code, err := brcode.Parse(text)
	switch {
	case err != nil:
		f.Refuse("qr_code", "a valid BR Code: "+err.Error())
	case code.Key == "":
		f.Fail(control.Refuse(fasthttp.StatusUnprocessableEntity, "qr_code is a dynamic code (a URL): the simulator pays static codes"))
	}
	p.TxID, p.Description = code.TxID, code.Description
	p.Amount = pix.Amount(code.AmountCentavos) * pix.UnitsPerCentavo
	return code.Key
}

func payer(f strictjson.Form, p *sim.Payment) {
	if f.Text("name", &p.PayerName) && utf8.RuneCountInString(p.PayerName) > maxText {
		f.Refuse("name", "at most 140 characters")
	}
	if f.Text("document", &p.PayerDocument) && utf8.RuneCountInString(p.PayerDocument) > maxText {
		f.Refuse("document", "at most 140 characters")
	}
	if f.Text("ispb", &p.PayerISPB) && !pix.ISPB(p.PayerISPB) {
		f.Refuse("ispb", "8 digits or capital letters")
	}
}

// meant returns the PIX keys that a text may mean, in the directory's spelling: eleven
// digits may be a CPF or a phone number.
func meant(text string) []string {
	if pix.AmbiguousKey(text) {
		phone, _ := pix.ParseKey(pix.KeyPhone, text)
		return []string{text, phone.Value}
	}
	if k, ok := pix.DetectKey(text); ok {
		return []string{k.Value}
	}
	return nil
}
