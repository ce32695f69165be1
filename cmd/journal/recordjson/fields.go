package recordjson

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
)

// writer writes a value under a name, or without one in a list.
type writer func(l *line, name string, v reflect.Value)

// typeWriters has the types that are not written as others of their kind, and those without a name
// of their own.
var typeWriters = map[reflect.Type]writer{
	reflect.TypeFor[string]():               func(l *line, name string, v reflect.Value) { l.text(name, v.String()) },
	reflect.TypeFor[bool]():                 func(l *line, name string, v reflect.Value) { l.boolean(name, v.Bool()) },
	reflect.TypeFor[int]():                  writeInteger,
	reflect.TypeFor[int64]():                writeInteger,
	reflect.TypeFor[uint8]():                writeUnsigned,
	reflect.TypeFor[uint16]():               writeUnsigned,
	reflect.TypeFor[uint32]():               writeUnsigned,
	reflect.TypeFor[uint64]():               writeUnsigned,
	reflect.TypeFor[pix.Amount]():           writeInteger,
	reflect.TypeFor[[16]byte]():             func(l *line, name string, v reflect.Value) { l.text(name, hex.EncodeToString(v.Bytes())) },
	reflect.TypeFor[pix.EventMask]():        bits(func(bit int) string { return pix.EventKind(bit).String() }),
	reflect.TypeFor[registry.Permissions](): bits(permission),
	reflect.TypeFor[pix.TxKind]():           words(txKinds),
	reflect.TypeFor[pix.Bucket]():           words(buckets),
	reflect.TypeFor[layout.DueKind]():       words(dueKinds),
	reflect.TypeFor[ledger.Approval]():      words(approvals),
	reflect.TypeFor[ledger.Style]():         words(styles),

	reflect.TypeFor[ledger.SubscriptionStatus](): words(subscriptionStatuses),
}

// writerOf returns how values of a type are written. A type without a form is a mistake of ours
// and panics: nobody knows what its values may show.
func writerOf(t reflect.Type) writer {
	if write, ok := typeWriters[t]; ok {
		return write
	}
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		write := writerOf(t.Elem())
		return func(l *line, name string, v reflect.Value) { write(l, name, v.Elem()) }
	case t.Implements(reflect.TypeFor[fmt.Stringer]()):
		return func(l *line, name string, v reflect.Value) {
			l.text(name, v.Interface().(fmt.Stringer).String())
		}
	case k == reflect.Struct:
		return objectOf(t)
	case k == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return listOf(writerOf(t.Elem()))
	}
	panic("recordjson: no form for a " + t.String())
}

func writeInteger(l *line, name string, v reflect.Value)  { l.integer(name, v.Int()) }
func writeUnsigned(l *line, name string, v reflect.Value) { l.unsigned(name, v.Uint()) }
func writeMask(l *line, name string, _ reflect.Value)     { l.text(name, mask) }

// listOf writes the values of a slice.
func listOf(write writer) writer {
	return func(l *line, name string, v reflect.Value) {
		l.list(name, v.Len(), func(i int) { write(l, "", v.Index(i)) })
	}
}

// bits writes a set as the list of its members; of returns the name of a bit's member.
func bits(of func(bit int) string) writer {
	return func(l *line, name string, v reflect.Value) {
		var all []string
		for bit := range v.Type().Bits() {
			if v.Uint()>>bit&1 == 1 {
				all = append(all, of(bit))
			}
		}
		l.list(name, len(all), func(i int) { l.text("", all[i]) })
	}
}

// member is a field of a struct as a member of an object.
type member struct {
	name  string
	field int
	zero  bool // it is shown even where it is 0
	write writer
}

// objectOf writes a struct as an object: the fields that are stored, in their order, without
// those that are zero or empty.
func objectOf(t reflect.Type) writer {
	var members []member
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("cbor") != "-" {
			members = append(members, memberOf(t, f))
		}
	}
	return func(l *line, name string, v reflect.Value) {
		l.object(name, func() {
			for _, m := range members {
				f := v.Field(m.field)
				if empty := f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0; !empty || m.zero {
					m.write(l, m.name, f)
				}
			}
		})
	}
}

// memberOf returns how a field of t is shown. A name of a secret is enough to mask it.
func memberOf(t reflect.Type, f reflect.StructField) member {
	path := t.String() + "." + f.Name
	m := member{name: nameOfField(path, f.Name), field: f.Index[0], zero: path == "ledger.Delivery.Event"} // an index from 0
	write, special := fieldWriters[path]
	switch {
	case isSecret(m.name):
		m.write = writeMask
	case m.name == urlName:
		m.write = func(l *line, name string, v reflect.Value) { l.text(name, masked(v.String())) }
	case special:
		m.write = write
	default:
		m.write = writerOf(f.Type)
	}
	return m
}

// nameOfField returns the member's name of a field: its name in Go in snake_case, if the tables of
// names have no other.
func nameOfField(path, field string) string {
	if name := cmp.Or(fieldNames[path], fieldNames[field]); name != "" {
		return name
	}
	var b strings.Builder
	for i, c := range field {
		begins := i > 0 && unicode.IsUpper(c) && (!unicode.IsUpper(rune(field[i-1])) || i+1 < len(field) && unicode.IsLower(rune(field[i+1])))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
