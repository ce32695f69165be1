package brcode

import (
	"strconv"
	"strings"
)

// reader builds a Code from the fields of a text.
type reader struct {
	code Code
	has  [100]bool // top-level ids that have been read
	pix  bool      // a Pix template has been read
	txid string    // the value of subfield 05 of field 62 (the txid), unchanged
}

// top reads one field of the top level.
func (r *reader) top(id int, v string) error {
	r.has[id] = true
	switch {
	case id == 1:
		r.code.OneTime = v == "12"
		return require(v == "11" || v == "12", "01 is neither 11 nor 12")
	case id >= 26 && id <= 51:
		return r.template(v)
	case id == 52:
		return require(category.MatchString(v), "52 is not four digits")
	case id == 53:
		return require(v == "986", "53 is not 986")
	case id == 54:
		return r.amount(v)
	case id == 58:
		return require(v == "BR", "58 is not BR")
	case id == 59:
		r.code.Name = v
		return require(len(v) <= maxName, "59 is longer than 25")
	case id == 60:
		r.code.City = v
		return require(len(v) <= maxCity, "60 is longer than 15")
	case id == 62:
		return each(v, r.additional)
	case id == 63:
		return malformed("63 is not the last field")
	case id >= 80:
		return r.recurrence(v)
	}
	return nil
}

// template reads one of the fields 26 to 51. Each of these fields may belong to another
// payment scheme; Pix's field is the one whose subfield 00 is the name of Pix.
func (r *reader) template(v string) error {
	var sub [100]string
	if err := split(v, &sub); err != nil {
		return err
	}
	if !strings.EqualFold(sub[0], gui) {
		return nil
	}
	if r.pix {
		return malformed("two Pix templates")
	}
	r.pix = true
	r.code.Key, r.code.Description = sub[1], sub[2]
	r.code.Facilitator, r.code.URL = sub[3], sub[25]
	if sub[1] != "" && sub[25] != "" {
		return malformed("a key and a URL together")
	}
	if len(sub[1]) > maxKey || !visible(sub[1]) {
		return malformed("the key is longer than 77 or holds a space")
	}
	if sub[3] != "" && !ispbForm.MatchString(sub[3]) {
		return malformed("the facilitator is not an ISPB")
	}
	return checkURL(sub[25])
}

// recurrence reads one of the fields 80 to 99. If the field is Pix's, it contains the URL of
// an automatic-payment authorisation.
func (r *reader) recurrence(v string) error {
	var sub [100]string
	if err := split(v, &sub); err != nil {
		return err
	}
	if !strings.EqualFold(sub[0], gui) {
		return nil
	}
	if sub[25] == "" || r.code.Recurrence != "" {
		return malformed("80 to 99 have no URL, or two")
	}
	r.code.Recurrence = sub[25]
	return checkURL(sub[25])
}

func (r *reader) additional(id int, v string) error {
	if id == 5 {
		r.txid = v
	}
	return nil
}

// amount reads field 54: one to ten digits, a point and two digits. Twelve digits cannot
// overflow an int64.
func (r *reader) amount(v string) error {
	parts := money.FindStringSubmatch(v)
	if parts == nil {
		return malformed("54 is not one to ten digits, a point and two digits")
	}
	r.code.AmountCentavos, _ = strconv.ParseInt(parts[1]+parts[2], 10, 64)
	return nil
}

// complete checks, after all fields have been read, the rules that concern several fields.
func (r *reader) complete() error {
	for _, id := range [...]int{52, 53, 58, 59, 60} {
		if !r.has[id] {
			return malformed(strconv.Itoa(id) + " is missing")
		}
	}
	switch {
	case !r.pix:
		return malformed("no Pix template in 26 to 51")
	case r.code.Key == "" && r.code.URL == "" && r.code.Recurrence == "":
		return malformed("neither a key nor a URL")
	case r.txid == "":
		return malformed("62-05 is missing")
	case r.code.Key == "" || r.txid == noTxID:
		return nil // in a dynamic code subfield 05 of field 62 is ignored
	case !isTxID(r.txid):
		return malformed("62-05 is not 1 to 25 ASCII letters and digits")
	}
	r.code.TxID = r.txid
	return nil
}

// split puts the values of a template's subfields into sub, by id. An absent subfield stays
// empty, and a present one is never empty.
func split(v string, sub *[100]string) error {
	return each(v, func(id int, value string) error {
		sub[id] = value
		return nil
	})
}

// checkURL checks a URL: no "https://" in front, no spaces, at most 77 bytes. An empty URL
// passes.
func checkURL(url string) error {
	if len(url) > maxKey || !visible(url) || strings.Contains(url, "://") {
		return malformed("the URL has a scheme, a space or more than 77 bytes")
	}
	return nil
}

func require(holds bool, what string) error {
	if holds {
		return nil
	}
	return malformed(what)
}
