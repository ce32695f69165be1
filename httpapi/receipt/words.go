package receipt

import (
	_ "embed"
	"fmt"
	"strconv"
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

const unitsPerReal = 100 * pix.UnitsPerCentavo

// reais writes an amount of base units as R$ 1.234,56. An amount that is not whole centavos
// gets four decimals.
func reais(a pix.Amount) string {
	sign, n := "", uint64(a) //nolint:gosec // a negative amount is turned into its opposite, which fits
	if a < 0 {
		sign, n = "-", -n
	}
	whole, rest := strconv.FormatUint(n/unitsPerReal, 10), n%unitsPerReal
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "." + whole[i:]
	}
	if rest%pix.UnitsPerCentavo == 0 {
		return fmt.Sprintf("%sR$ %s,%02d", sign, whole, rest/pix.UnitsPerCentavo)
	}
	return fmt.Sprintf("%sR$ %s,%04d", sign, whole, rest)
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
