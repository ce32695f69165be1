package console

import (
	"bytes"
	"html/template"
	"net"
	"net/url"
	"strings"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi"
	"pixd/httpapi/control"
)

// merchantKey is a credential of an account that a session has made for itself. It is valid as long as the session. Its
// secret leaves the session's memory in calls of the merchant API alone.
type merchantKey struct{ id, secret string }

// merchantMay are the permissions of a session's credentials.
var merchantMay = []string{"pix:write", "transfer:write", "transfer:read", "account:write", "account:read"}

// merchantKeyOf returns the session's credential of an account. The first time it is made, which is an action of its own: a form
// of an earlier session that is sent again needs a new one.
func (v *visit) merchantKeyOf(account string) (merchantKey, error) {
	s := &v.one.sandbox
	s.mu.Lock()
	k, has := s.keys[account]
	full := len(s.keys) >= mostMerchantKeys
	s.mu.Unlock()
	if has {
		return k, nil
	}
	key := v.key
	v.key = ""
	defer func() { v.key = key }()
	if full {
		v.dropMerchantKeys()
	}
	k, err := v.makeMerchantKey(account)
	if err != nil {
		return k, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]merchantKey{}
	}
	s.keys[account] = k
	return k, nil
}

// makeMerchantKey makes a credential of an account that is valid as long as the session.
func (v *visit) makeMerchantKey(account string) (merchantKey, error) {
	var made struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
	}
	err := v.post("/admin/accounts/"+url.PathEscape(account)+"/api-keys", map[string]any{
		"permissions": merchantMay, "ip_whitelist": []string{"127.0.0.1"}, "expires_at": v.one.until.String(),
	}, &made)
	return merchantKey{made.ClientID, made.Secret}, err
}

// forget drops the session's credential of an account, which the merchant API takes no more.
func (s *sandbox) forget(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, account)
}

// dropMerchantKeys revokes the session's credentials. One that cannot be revoked now expires with the time of the session.
func (v *visit) dropMerchantKeys() {
	s := &v.one.sandbox
	s.mu.Lock()
	keys := s.keys
	s.keys = nil
	s.mu.Unlock()
	for _, k := range keys {
		if err := v.call(fasthttp.MethodDelete, "/admin/api-keys/"+url.PathEscape(k.id), nil, nil); err != nil {
			v.Log.Warn("console: a session's credential is not revoked", "client_id", k.id, "error", err)
		}
	}
}

// asMerchant has the merchant API answer a request of an account from this machine, under the form's key: the same form
// again gets the first answer. Errors: a *problem where the operator may not make the credential, errUnknown.
func (v *visit) asMerchant(account, method, path string, body any) (status int, answer []byte, err error) {
	k, err := v.merchantKeyOf(account)
	if err != nil {
		return 0, nil, err
	}
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI("/api/external" + path)
	req.Header.Set(fasthttp.HeaderAuthorization, "ApiKey "+k.id+":"+k.secret)
	if body != nil {
		text := bytes.TrimSpace(control.Encode(body))
		signature, err := httpapi.Sign([]byte(k.secret), text, false)
		if err != nil {
			return 0, nil, err
		}
		req.Header.Set("hmac", signature)
		req.Header.Set("Idempotency-Key", v.key)
		req.Header.SetContentType("application/json")
		req.SetBody(text)
	}
	var inner fasthttp.RequestCtx
	inner.Init(&req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
	httpapi.SetRequestID(&inner, httpapi.RequestID(v.ctx))
	v.Merchant(&inner)
	if inner.Hijacked() {
		return 0, nil, errUnknown
	}
	status = inner.Response.StatusCode()
	if status == fasthttp.StatusUnauthorized {
		v.one.sandbox.forget(account)
	}
	return status, bytes.Clone(inner.Response.Body()), nil
}

// charge is a charge as the merchant API answers.
type charge struct {
	Transaction string     `json:"transaction_id"`
	Code        string     `json:"qr_code"`
	Image       string     `json:"qr_code_image"`
	Amount      pix.Amount `json:"amount"`
}

// pictureURI begins the picture of a QR code.
const pictureURI = "data:image/png;base64,"

// Picture is the picture of the QR code; empty: there is none.
func (c charge) Picture() template.URL {
	if text, is := strings.CutPrefix(c.Image, pictureURI); !is || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != "" {
		return ""
	}
	return template.URL(c.Image) //nolint:gosec // a picture of the merchant API, with no other character than of base64
}

// laidOut is JSON with a line for each member. The picture of a QR code is left out, which is no text for people.
func laidOut(answer []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, answer, "", "  "); err != nil {
		return string(answer)
	}
	var lines []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		if before, _, is := strings.Cut(line, pictureURI); is {
			line = before + pictureURI + "…\"" + strings.TrimLeft(line[len(strings.TrimRight(line, ",")):], " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// tryAsMerchant has the merchant API answer, and keeps the answer for a page.
func (v *visit) tryAsMerchant(page, path string, body any) outcome {
	account := v.chosen()
	if account == "" {
		return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("account"))}
	}
	status, answer, err := v.asMerchant(account, fasthttp.MethodPost, path, body)
	if err != nil {
		return v.failed(err)
	}
	t := tried{Key: v.key, Page: page, Status: status, Body: laidOut(answer)}
	if status < fasthttp.StatusMultipleChoices {
		_ = json.Unmarshal(answer, &t.Charge) // an answer without these members is shown as it is
		t.Transaction = t.Charge.Transaction
	}
	v.one.sandbox.remember(t)
	return outcome{Notice: v.Lang.say("sandbox_answered", status)}
}
