package recordjson

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-json"

	"pixd/cmd/terminal"
	"pixd/httpapi"
)

// mask stands in place of a secret.
const mask = "***"

// secretNames are the names of members whose values could authenticate somebody: the one list
// for records and for stored answers. In an answer a name counts in either case of keys, at
// any depth.
var secretNames = []string{"secret", "secret_sha256", "token_sha256", "client_secret", "token", "password", "authorization", "hmac"}

// urlName is the name of a webhook's URL, in records and in answers.
const urlName = "url"

// isSecret tells whether a member's value is secret: in client_secret, clientSecret and
// ClientSecret alike.
func isSecret(name string) bool {
	bare := func(s string) string { return strings.ReplaceAll(s, "_", "") }
	name = bare(name)
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.EqualFold(bare(s), name) })
}

// masked returns a URL without its query, in which receivers expect tokens.
func masked(url string) string {
	if before, _, found := strings.Cut(url, "?"); found {
		return before + "?" + mask
	}
	return url
}

// writeAnswer writes the body of a stored answer. An object's members are shown in the order of
// their names. A body that is no JSON object is masked whole: nobody knows what in it may be secret.
func writeAnswer(l *line, name string, v reflect.Value) {
	body, err := withoutSecrets(v.Bytes())
	if err != nil {
		l.text(name, mask)
		return
	}
	l.name(name)
	for _, r := range string(body) { // its quotes have their escapes already
		l.b = terminal.AppendJSON(l.b, r)
	}
}

// withoutSecrets returns an answer's body with the secrets in it masked. The error says why it is
// no JSON object.
func withoutSecrets(body []byte) ([]byte, error) {
	body, err := httpapi.Canonical(body)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return nil, err
	}
	maskSecrets(members)
	return json.MarshalWithOption(members, json.DisableHTMLEscape())
}

// maskSecrets masks the secrets in a value, at any depth.
func maskSecrets(v any) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			maskSecrets(inner)
		}
	case map[string]any:
		for name, inner := range v {
			url, isText := inner.(string)
			switch {
			case isSecret(name):
				v[name] = mask
			case isText && strings.EqualFold(name, urlName):
				v[name] = masked(url)
			default:
				maskSecrets(inner)
			}
		}
	}
}
