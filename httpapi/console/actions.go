package console

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"pixd/httpapi/admin"
)

// action is an action of the operator API.
type action struct{ admin.Action }

// documents are what can be a CPF or a CNPJ in a request: a whole text of a body, plain or with the marks that people write
// in it, or a key in a path.
var documents = regexp.MustCompile(`"[0-9A-Z ][0-9A-Z./ -]{9,30}"|/pix-keys/(?:[0-9]{11}|[0-9A-Z]{12}[0-9]{2})`)

// plainDocument is a CPF or a CNPJ without marks.
var plainDocument = regexp.MustCompile(`^(?:[0-9]{11}|[0-9A-Z]{12}[0-9]{2})$`)

// marksOf are what people write in a document.
var marksOf = strings.NewReplacer(".", "", "-", "", "/", "", " ", "", `"`, "")

// withoutDocuments is a text of the record with documents masked.
func withoutDocuments(text string) string {
	return documents.ReplaceAllStringFunc(text, func(found string) string {
		if plain := marksOf.Replace(found); found[0] == '"' && plainDocument.MatchString(plain) {
			return `"` + masked(plain) + `"`
		} else if found[0] == '"' {
			return found
		}
		return "/pix-keys/" + masked(strings.TrimPrefix(found, "/pix-keys/"))
	})
}

// Shown is what was asked for, with documents masked, and Sent the body.
func (a action) Shown() string { return a.Method + " " + withoutDocuments(a.Path) }

// Sent is the body of the request, with documents masked.
func (a action) Sent() string { return withoutDocuments(a.Body) }

// answered says how an action was answered.
func (a action) answered(l language) string {
	if a.Status == nil {
		return l.say("not_answered")
	}
	return strconv.Itoa(int(*a.Status))
}

// Answered is answered for the page.
func (a action) Answered(l language) string { return a.answered(l) }

// actions shows what operators did, of one operator or of all.
func actions(v *visit) error {
	var l list[action]
	err := v.get("/admin/actions?limit=50&operator="+url.QueryEscape(v.Arg("operator"))+"&cursor="+url.QueryEscape(v.arg("cursor")), &l)
	v.Data = l
	return err
}
