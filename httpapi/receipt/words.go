package receipt

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"pixd/actors/pix"
)

// wording is what a receipt calls its parts.
type wording struct{ title, payer, recipient, net string }

var (
	sent     = wording{"Comprovante de transferência Pix", "Quem pagou", "Quem recebeu", "Total debitado"}
	received = wording{"Comprovante de transferência Pix", "Quem pagou", "Quem recebeu", "Valor creditado"}
	wordings = map[pix.TxKind]wording{
		pix.TxCharge:   received,
		pix.TxReceipt:  received,
		pix.TxPayout:   sent,
		pix.TxRefund:   {"Comprovante de devolução Pix", "Quem devolveu", "Quem recebeu", "Total debitado"},
		pix.TxReturn:   {"Comprovante de devolução Pix", "Quem devolveu", "Quem recebeu", "Valor creditado"},
		pix.TxTED:      {"Comprovante de TED", "Origem", "Destino", "Valor creditado"},
		pix.TxInternal: {"Comprovante de crédito interno", "Origem", "Destino", "Valor creditado"},
	}
)

// reason says in Portuguese why a payment came back.
func reason(code string) string {
	switch code {
	case "MD06":
		return "Devolução por acordo entre as partes (MD06)"
	case "BE08":
		return "Devolução por fraude (BE08)"
	case "FR01":
		return "Devolução por fraude informada na instituição recebedora (FR01)"
	case "SL02":
		return "Devolução por erro de liquidação (SL02)"
	}
	return code
}

// reais writes an amount of base units as R$ 1.234,56. An amount that is not whole centavos
// gets four decimals.
func reais(a pix.Amount) string {
	number, isNegative := strings.CutPrefix(a.BRL(".", ","), "-")
	if isNegative {
		return "-R$ " + number
	}
	return "R$ " + number
}

// zoneFile is America/Sao_Paulo of the IANA time zone database, which is in the public domain.
// The machine may have no such database.
//
//go:embed sao_paulo.tzif
var zoneFile []byte

var saoPaulo = func() *time.Location {
	l, err := time.LoadLocationFromTZData("America/Sao_Paulo", zoneFile)
	if err != nil {
		panic(fmt.Sprintf("receipt: America/Sao_Paulo: %v", err))
	}
	return l
}()

const dateForm = "02/01/2006 15:04:05"

func brasilia(at pix.Millis) string {
	return time.UnixMilli(int64(at)).In(saoPaulo).Format(dateForm)
}

func utc(at pix.Millis) string { return time.UnixMilli(int64(at)).UTC().Format(dateForm) }
