package httpapi

import "pixd/actors/ledger"

// textField is a string field of a request before it is checked.
type textField struct {
	Value string
	Given bool // the field is present and not null
	Wrong bool // the field is present but not a string
}

// refuse is the refusal of a request whose fields are wrong before any account is asked.
func refuse(c ledger.RefusalCode, message string) *ledger.Refusal {
	return &ledger.Refusal{Code: c, Message: message}
}

// refuseField is refuse for a certain field.
func refuseField(c ledger.RefusalCode, field, message string) *ledger.Refusal {
	return &ledger.Refusal{Code: c, Field: field, Message: message}
}
