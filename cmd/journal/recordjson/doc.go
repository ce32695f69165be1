// Package recordjson shows records of the journal as JSON for people: one line for each
// record, fields and values by name, and no secret. docs/formats.md lists the names.
//
// A field that is zero or absent is left out. Every character that a terminal might take for
// a command is escaped. A value without a name, which only a newer version can have written,
// is shown as its number.
package recordjson
