// Package receipt draws the receipt of a settled transaction: a PDF of one page, in
// Portuguese. The same facts always give the same bytes.
package receipt

import (
	"pixd/actors/pix"
)

// Facts are what a receipt says. A fact that is not known is empty, and its line is left out.
// Text of any kind and length is accepted: what the fonts cannot show is replaced by a mark,
// and what has no room on the page is cut, which an ellipsis shows.
type Facts struct {
	Kind             pix.TxKind
	Amount, Fee, Net pix.Amount // base units; Net is the amount with the fee
	Payer, Recipient Party
	Issuer           Institution // whose receipt this is

	TransactionID         string
	EndToEnd              string
	OriginalTransactionID string // of a refund or a return: the transaction that it gives back
	OriginalEndToEnd      string
	Description           string
	ReasonCode            string // of a return

	CompletedAt pix.Millis
	PaidAt      pix.Millis // when the scheme took the payment, if that was much earlier; 0: it was not
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

// page returns the receipt's texts in Portuguese: title, sections of labelled rows, footer. It draws
// nothing.
func (f *Facts) page() page {
	w := wordings[f.Kind]
	p := page{
		issuer: f.Issuer.String(), title: w.title, amount: reais(f.Amount), when: brasilia(f.CompletedAt),
		sections: []section{{w.payer, f.Payer.rows()}, {w.recipient, f.Recipient.rows()}},
		foot:     "Comprovante emitido por " + f.Issuer.String() + ".",
	}
	p.sections = append(p.sections, section{"Dados da transação", f.about(w.net)})
	var original []row
	original = with(original, labelEndToEnd, f.OriginalEndToEnd)
	original = with(original, labelID, f.OriginalTransactionID)
	if len(original) > 0 {
		p.sections = append(p.sections, section{"Pagamento devolvido", original})
	}
	return p.printable()
}

// The labels of ids.
const (
	labelEndToEnd = "ID Pix (end-to-end)"
	labelID       = "ID da transação"
)

// about returns what is said of the transaction itself; net is the label of the net amount.
func (f *Facts) about(net string) (rows []row) {
	rows = with(rows, "Valor", reais(f.Amount))
	if f.Fee != 0 {
		rows = with(rows, "Tarifa", reais(f.Fee))
		rows = with(rows, net, reais(f.Net))
	}
	rows = with(rows, "Data e hora (Brasília)", brasilia(f.CompletedAt))
	rows = with(rows, "Data e hora (UTC)", utc(f.CompletedAt))
	if f.PaidAt != 0 {
		rows = with(rows, "Pago em (Brasília)", brasilia(f.PaidAt))
	}
	if f.Kind == pix.TxReturn {
		rows = with(rows, "Motivo", reason(f.ReasonCode)) // its description says the same in English
	} else {
		rows = with(rows, "Descrição", f.Description)
	}
	rows = with(rows, labelEndToEnd, f.EndToEnd)
	return with(rows, labelID, f.TransactionID)
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
