package httpapi

import (
	"strings"
	"unicode"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Columns returns the names of the columns of Cells, in the same order.
func Columns() []string {
	return []string{
		"booked_at", "completed_at", "transaction_id", "type", "direction", "status",
		"amount_brl", "fee_brl", "net_brl", "movement_brl",
		"description", "counterparty_name", "counterparty_document", "counterparty_bank", "counterparty_ispb", "recipient_key",
		"external_id", "end_to_end_id", "original_transaction_id", "original_end_to_end_id", "reason_code", "created_at", "id",
	}
}

// Cells returns a transaction as a row for a spreadsheet: instants in ISO 8601 UTC, amounts in
// BRL with a decimal point, texts that no spreadsheet takes for a formula. A cell is empty
// where Item has null. movement_brl is by how much the transaction has changed the balance.
func Cells(t *ledger.Transaction, banks Banks) []string {
	direction, document, key := "inbound", t.Counterparty.Document, ""
	if t.Kind.Outbound() {
		direction, document, key = "outbound", RecipientDocument(t), t.Payout.Key.Value
	}
	originalID, originalEndToEnd := original(t)
	return []string{
		instantCell(t.BookedAt), instantCell(completedAt(t)), t.Public(), typeOf(t.Kind), direction, shownStatus(t.Status),
		brl(t.Amount), brl(t.Fee), brl(t.Net()), brl(t.Movement()),
		textCell(t.Description), textCell(t.Counterparty.Name), textCell(document), textCell(banks.Name(t.Counterparty.ISPB)), textCell(t.Counterparty.ISPB), textCell(key),
		textCell(t.ExternalID), textCell(t.EndToEnd), originalID, textCell(originalEndToEnd), textCell(t.ReasonCode), instantCell(t.CreatedAt), t.ID.String(),
	}
}

func instantCell(at pix.Millis) string {
	if at == 0 {
		return ""
	}
	return at.String()
}

func brl(a pix.Amount) string { return a.BRL("", ".") }

// textCell returns a text for the cell of a spreadsheet. Whoever pays or is paid chooses such
// texts, and a spreadsheet would compute a text that it takes for a formula. So a single quote
// is written before what may be the begin of a formula: at the text's begin, and behind each
// character at which a spreadsheet with other separators would begin a cell. Characters that
// are not shown, and invalid UTF-8, are replaced.
func textCell(s string) string {
	var b strings.Builder
	begins := true // a cell may begin here
	for i, r := range s {
		separates := strings.ContainsRune(separators, r)
		if begins && !separates && isFormula(s[i:]) || i == 0 && separates {
			b.WriteByte('\'')
		}
		if separates || unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			b.WriteRune(unicode.ReplacementChar)
		}
		begins = separates
	}
	return b.String()
}

const separators = ";\t\r\n"

// isFormula reports whether a spreadsheet may take a text for a formula. Spaces, quotes and
// characters that are not shown may stand before the formula; the signs may be full-width.
func isFormula(s string) bool {
	begin := strings.TrimLeftFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == unicode.ReplacementChar || strings.ContainsRune("\"'`´‘’“”", r)
	})
	return strings.IndexAny(begin, "=+-@＝＋－＠") == 0
}
