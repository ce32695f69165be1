// Package journal reads the journal of a data folder without a running engine: it verifies the
// journal, dumps its records, audits its accounts, and packs and restores snapshots of it. It
// also says where the journal lies, and which settings are fixed in it for ever.
//
// Only RestoreSnapshot and Pack write, and both write copies. A folder in use by a running
// engine is an error that names the process.
package journal
