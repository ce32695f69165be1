package recordjson

import (
	"strconv"

	"pixd/actors/pix"
	"pixd/actors/registry"
)

// entry writes the entry of a registry's record.
func (l *line) entry(r *registry.Record) {
	if a := r.Account; a != nil {
		l.object("account", func() {
			l.account("id", a.ID)
			l.flag("active", a.Active)
			l.instant("created_at", a.CreatedAt)
			if a.Opening != nil {
				l.object("settings", func() { l.settings(a.Opening) })
			}
		})
	}
	if r.APIKey != nil {
		l.object("api_key", func() { l.apiKey(r.APIKey) })
	}
	if k := r.PixKey; k != nil {
		l.object("pix_key", func() {
			l.text("key", k.Key)
			said(l, "type", k.Type, lastKeyType)
			l.account("account", k.Account)
			l.instant("created_at", k.CreatedAt)
			l.flag("registered", k.Registered)
		})
	}
	if e := r.EndToEnd; e != nil {
		l.object("reservation", func() {
			l.text("end_to_end_id", e.EndToEnd)
			l.account("account", e.Account)
		})
	}
}

func (l *line) apiKey(k *registry.APIKey) {
	l.text("client_id", k.ClientID)
	l.account("account", k.Account)
	l.secret("secret_sha256", k.SecretHash != [32]byte{})
	l.bits("permissions", uint32(k.Permissions), func(bit int) string {
		if names := registry.Permissions(1 << bit).Names(); len(names) == 1 {
			return names[0]
		}
		return strconv.Itoa(1 << bit)
	})
	l.texts("ip_whitelist", k.Whitelist)
	l.instant("expires_at", k.ExpiresAt)
	l.flag("signing", k.Signing)
	l.flag("active", k.Active)
	l.instant("created_at", k.CreatedAt)
}

// account writes an account's id, unless it is 0.
func (l *line) account(name string, id pix.AccountID) {
	if id != 0 {
		l.text(name, id.String())
	}
}
