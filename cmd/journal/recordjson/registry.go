package recordjson

import (
	"strconv"

	"pixd/actors/registry"
)

// entry writes the entry of a registry's record.
func (l *line) entry(r *registry.Record) {
	optional(l, "account", r.Account, func(a *registry.Account) {
		l.add("id", a.ID)
		l.add("active", a.Active)
		l.add("created_at", a.CreatedAt)
		optional(l, "settings", a.Opening, l.settings)
	})
	optional(l, "api_key", r.APIKey, l.apiKey)
	optional(l, "pix_key", r.PixKey, func(k *registry.PixKey) {
		l.add("key", k.Key)
		said(l, "type", k.Type, lastKeyType)
		l.add("account", k.Account)
		l.add("created_at", k.CreatedAt)
		l.add("registered", k.Registered)
	})
	optional(l, "reservation", r.EndToEnd, func(e *registry.EndToEndReservation) {
		l.add("end_to_end_id", e.EndToEnd)
		l.add("account", e.Account)
	})
}

func (l *line) apiKey(k *registry.APIKey) {
	l.add("client_id", k.ClientID)
	l.add("account", k.Account)
	l.secret("secret_sha256", k.SecretHash != [32]byte{})
	l.bits("permissions", uint32(k.Permissions), func(bit int) string {
		if names := registry.Permissions(1 << bit).Names(); len(names) == 1 {
			return names[0]
		}
		return strconv.Itoa(1 << bit)
	})
	l.texts("ip_whitelist", k.Whitelist)
	l.add("expires_at", k.ExpiresAt)
	l.add("signing", k.Signing)
	l.add("active", k.Active)
	l.add("created_at", k.CreatedAt)
}
