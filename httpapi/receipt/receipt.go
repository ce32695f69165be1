// Package receipt draws the receipt of a settled transaction: a PDF of one page, in
// Portuguese. The same facts always give the same bytes.
package receipt

import (
	"pixd/actors/ledger"
)

// Facts are what a receipt says. A fact that is not known is empty, and its line is left out.
// Text of any kind and length is accepted: what the fonts cannot show is replaced by a mark,
// and what has no room on the page is cut, which an ellipsis shows.
type Facts struct {
	Kind             ledger.TxKind
	Amount, Fee, Net ledger.Amount // base units; Net is the amount with the fee
	Payer, Recipient Party
	Issuer           Institution // whose receipt this is

	TransactionID         string
	EndToEnd              string
	OriginalTransactionID string // of a refund or a return: the transaction that it gives back
	OriginalEndToEnd      string
	Description           string
	ReasonCode            string // of a return

	CompletedAt ledger.Millis
	PaidAt      ledger.Millis // when the scheme took the payment, if that was much earlier; 0: it was not
}

// Party is the payer or the recipient.
type Party struct {
	Name          string
	Document, Key string // as they are to be printed: masked
	Institution   Institution
}

// Institution is a participant of the scheme.
type Institution struct{ Name, ISPB string }

func (i Institution) String() string {
	switch {
	case i.ISPB == "":
		return i.Name
	case i.Name == "":
		return "ISPB " + i.ISPB
	}
	return i.Name + " (ISPB " + i.ISPB + ")"
}

// page is the text of a receipt.
type page struct {
	issuer, title, amount, when string
	sections                    []section
	foot                        string
}

type section struct {
	heading string
	rows    []row
}

type row struct{ label, value string }

// page writes the facts in words.
func (f *Facts) page() page {
	w := wordings[f.Kind]
	p := page{
		issuer: f.Issuer.String(), title: w.title, amount: reais(f.Amount), when: brasilia(f.CompletedAt),
		sections: []section{{w.payer, f.Payer.rows()}, {w.recipient, f.Recipient.rows()}},
		foot:     "Comprovante emitido por " + f.Issuer.String() + ".",
	}
	var dates, about []row
	dates = with(dates, "Data e hora (Brasília)", brasilia(f.CompletedAt))
	dates = with(dates, "Data e hora (UTC)", utc(f.CompletedAt))
	if f.PaidAt != 0 {
		dates = with(dates, "Pago em (Brasília)", brasilia(f.PaidAt))
	}
	about = with(about, "Valor", reais(f.Amount))
	if f.Fee != 0 {
		about = with(about, "Tarifa", reais(f.Fee))
		about = with(about, w.net, reais(f.Net))
	}
	about = append(about, dates...)
	if f.Kind == ledger.TxReturn {
		about = with(about, "Motivo", reason(f.ReasonCode)) // its description says the same in English
	} else {
		about = with(about, "Descrição", f.Description)
	}
	about = with(about, "ID Pix (end-to-end)", f.EndToEnd)
	about = with(about, "ID da transação", f.TransactionID)
	about = with(about, "ID Pix da original", f.OriginalEndToEnd)
	about = with(about, "ID da original", f.OriginalTransactionID)
	p.sections = append(p.sections, section{"Dados da transação", about})
	return p.printable()
}

// with appends a row, unless it says nothing.
func with(rows []row, label, value string) []row {
	if value == "" {
		return rows
	}
	return append(rows, row{label, value})
}

func (p *Party) rows() (rows []row) {
	name := p.Name
	if name == "" {
		name = "Não informado"
	}
	rows = with(rows, "Nome", name)
	rows = with(rows, "CPF/CNPJ", p.Document)
	rows = with(rows, "Instituição", p.Institution.String())
	return with(rows, "Chave Pix", p.Key)
}

// printable returns the page with each text as the fonts can show it.
func (p page) printable() page {
	for _, text := range []*string{&p.issuer, &p.foot} {
		*text = printable(*text)
	}
	for _, s := range p.sections {
		for i := range s.rows {
			s.rows[i].value = printable(s.rows[i].value)
		}
	}
	return p
}
