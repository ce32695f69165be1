package httpapi

// reasonTexts explains, in English, the reason codes of payouts that wait or did not settle
// and of refunds that failed. Sources of the meanings in upper case: the SPI's catalogue of
// pacs.002 codes and the ISO 20022 external code list.
var reasonTexts = map[string]string{
	"AB03": "The payment was not settled in time",
	"AB09": "An error occurred at the receiving institution",
	"AB11": "The paying institution did not answer in time",
	"AC03": "The recipient's branch or account does not exist or is invalid",
	"AC06": "The recipient's account is blocked",
	"AC07": "The recipient's account is closed",
	"AC14": "The recipient's account is of the wrong type",
	"AG03": "The recipient's account does not support this type of transaction",
	"AG12": "Transfers within one institution do not go over the scheme",
	"AG13": "A return cannot be returned",
	"AGNT": "The settling institution is wrong",
	"AM01": "The amount is zero",
	"AM02": "The amount is above the limit of the recipient's account",
	"AM04": "The paying institution's balance at the scheme is too low",
	"AM09": "The amount is wrong, or exceeds what is left of the original payment",
	"AM12": "The amount is invalid",
	"AM18": "The number of transactions is invalid",
	"AM23": "The amount is above the settlement limit",
	"BE01": "The CPF or CNPJ does not belong to the holder of the recipient's account",
	"BE05": "The party that initiated the payment is not recognised",
	"BE15": "An identification code is missing or invalid",
	"BE17": "The receiving institution refused the QR code or the recipient's identification",
	"CH11": "The recipient's CPF or CNPJ is wrong",
	"CH16": "The content of a field is wrong",
	"CN01": "The authorisation was cancelled",
	"DS02": "The institution is blocked from sending",
	"DS04": "The receiving institution refused the payment",
	"DS0G": "The institution is not authorised for this operation",
	"DS0H": "The signer is not allowed to use this account",
	"DS24": "The time to wait for the payment's completion is over",
	"DS27": "The institution is not active in the scheme",
	"DT02": "The date or time is invalid",
	"DT05": "The deadline for the operation has passed",
	"DU03": "The transaction is a duplicate",
	"DUPL": "The payment is a duplicate: another one has the same end-to-end id",
	"ED05": "The settlement failed",
	"FF07": "The purpose of the payment is invalid",
	"FF08": "The end-to-end id is invalid, or its time is outside the accepted 12 hours",
	"FRAD": "The payment was refused on suspicion of fraud",
	"MD01": "There is no mandate for the payment",
	"RC09": "The paying institution's ISPB is invalid",
	"RC10": "The receiving institution's ISPB is invalid",
	"RR04": "The payment was refused for a regulatory reason",
	"RR06": "The payment's tax information is missing or wrong",
	"SL02": "The receiving institution's specific service, such as Pix Saque or Pix Troco, refused the payment",
	"UPAY": "The payment is not due",

	"DICT_CLIENT_RATE_LIMITED": "The directory's limit on key lookups for this client is reached: the payment is queued and retried automatically",
	"DICT_BUCKET_EXHAUSTED":    "The directory has no capacity left for key lookups: the payment is queued and retried automatically",
	"DICT_QUEUE_TIMEOUT":       "The payment was queued until its time ran out, and was not sent",

	"orphan_force_voided": "The scheme reported no outcome in time, and the payment was voided",
	"approval_declined":   "An operator declined the payment",
	"approval_expired":    "The payment was not approved in time",
	"refund_not_resent":   "The scheme does not know the refund, and it was not sent again: the money may have gone back otherwise",

	"cnpj_out_blocked":           "Payments to this CNPJ are not authorized for the account",
	"cnpj_out_document_required": "The recipient's document is required and could not be determined",
	"dict_key_not_found":         "The directory does not know the key",
	"dict_key_blocked":           "The key is blocked in the directory",
	"dict_lookup_failed":         "The lookup of the key in the directory failed",
	"dict_rate_limited":          "The directory temporarily limits requests",
	"dict_bucket_exhausted":      "The directory has no capacity left",
	"provider_rejected":          "The provider rejected the request",
	"provider_schema_error":      "The provider could not read the request",
	"provider_unknown_error":     "The provider answered with an unknown error",
}

// reasonText explains a reason code in English.
func reasonText(code string) string {
	if text, known := reasonTexts[code]; known {
		return text
	}
	return "Rejected by the scheme (" + code + ")"
}
