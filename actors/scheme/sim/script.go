package sim

import (
	"hash/fnv"
	"strconv"
	"strings"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// outcome says what the simulator does with a payment to a key. The zero outcome settles the
// payment after the delay.
type outcome struct {
	limit    ledger.RefusalCode // the directory's limit that a lookup meets
	times    uint64             // number of times that each payout meets that limit; 0: always
	lookup   ledger.RefusalCode // the directory refuses the lookup with this code
	submit   ledger.RefusalCode // the provider refuses the submission with this code
	now      bool               // the payment settles inside the submit call
	silent   bool               // the payment is accepted, and never settled or rejected
	returned bool               // the payment is returned in full after it has settled
	reason   string             // the payment is accepted and then rejected with this code
	owner    string             // document of the key's owner, if the script names one
}

// scriptDomain is the domain of the e-mail keys that choose an outcome.
const scriptDomain = "@pix.test"

var scripts = map[string]outcome{
	"not-found":         {lookup: ledger.RefuseKeyNotFound},
	"blocked":           {lookup: ledger.RefuseKeyBlocked},
	"lookup-failed":     {lookup: ledger.RefuseLookupFailed},
	"provider-rejected": {submit: ledger.RefuseProvider},
	"provider-unknown":  {submit: ledger.RefuseProviderOther},

	"provider-schema-error": {submit: ledger.RefuseProviderSchema},
	"send-rate-limited":     {submit: ledger.RefuseRateLimited},
	"send-bucket-exhausted": {submit: ledger.RefuseBucket},
	"settle-now":            {now: true},
	"silent":                {silent: true},
	"returned":              {returned: true},
}

// script reads the outcome of a key: the payment settles after the delay, unless the key is
// an e-mail at pix.test whose local part chooses otherwise. A "+" and anything after it,
// before the @, makes distinct keys with one outcome.
func script(k pix.Key) outcome {
	local, ok := strings.CutSuffix(k.Value, scriptDomain)
	if k.Type != pix.KeyEmail || !ok {
		return outcome{}
	}
	local, _, _ = strings.Cut(local, "+")
	if o, ok := scripts[local]; ok {
		return o
	}
	if o, ok := limits(local); ok {
		return o
	}
	if code, ok := strings.CutPrefix(local, "reject-"); ok && code != "" {
		return outcome{reason: strings.ToUpper(code)}
	}
	if doc, ok := strings.CutPrefix(local, "owner-"); ok && pix.IsCNPJ(doc) {
		return outcome{owner: doc}
	}
	return outcome{}
}

// The ISPBs of the institutions that the simulator plays. 99999xxx are fictitious ISPBs that
// belong to the scheme itself.
const (
	payerISPB     = "99999003"
	recipientISPB = "99999005"
)

// owner returns the owner of a key in the directory. The owner has the document that the key
// or its script states; for other keys it is a made-up person, the same each time.
func owner(k pix.Key, o outcome) pix.Party {
	own := pix.Party{Name: "Pessoa Simulada", Document: o.owner, ISPB: recipientISPB}
	if own.Document == "" {
		own.Document = k.Document()
	}
	if own.Document == "" {
		h := fnv.New64a()
		_, _ = h.Write([]byte(k.Value))
		own.Document = cpf(h.Sum64() % 1_000_000_000)
	}
	if pix.IsCNPJ(own.Document) {
		own.Name = "Empresa Simulada LTDA"
	}
	return own
}

// cpf appends the two check digits (modulo 11) of a CPF to its first nine digits.
func cpf(base uint64) string {
	s := strconv.FormatUint(1_000_000_000+base, 10)[1:]
	for range 2 {
		sum := 0
		for i := range len(s) {
			sum += int(s[i]-'0') * (len(s) + 1 - i)
		}
		check := sum * 10 % 11 % 10
		s += strconv.Itoa(check)
	}
	return s
}
