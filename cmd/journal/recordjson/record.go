package recordjson

import (
	"cmp"
	"reflect"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

// How the bodies of the two forms of records are written.
var (
	ledgerBody   = writerOf(reflect.TypeFor[ledger.Body]())
	registryBody = writerOf(reflect.TypeFor[registry.Record]())
)

// AppendLedger appends a record of an account, and a line feed. A position of 0 is left out.
func AppendLedger(b []byte, position uint64, r *ledger.Record) []byte {
	l := head(b, position, r.Account.String(), r.Seq, r.Time, r.Kind.String())
	l.record = r
	ledgerBody(l, "body", reflect.ValueOf(&r.Body).Elem())
	return append(l.b, "}\n"...)
}

// AppendRegistry appends a record of one of the registry's streams, as AppendLedger does.
func AppendRegistry(b []byte, position uint64, stream string, r *registry.Record) []byte {
	l := head(b, position, stream, r.Seq, r.Time, r.Kind.String())
	registryBody(l, "body", reflect.ValueOf(r).Elem())
	return append(l.b, "}\n"...)
}

// StreamName is the name of a stream by which operators know it.
func StreamName(s wal.Stream) string {
	return cmp.Or(registry.StreamName(s), pix.AccountID(s).String())
}

// head begins a line with what the journal stores beside a record's body.
func head(b []byte, position uint64, stream string, seq uint64, at pix.Millis, kind string) *line {
	l := &line{b: append(b, '{')}
	l.positive("position", position)
	l.text("stream", stream)
	l.positive("sequence", seq)
	l.text("time", at.String())
	l.text("kind", kind)
	return l
}
