package snapshot

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/big"
	"regexp"
	"strconv"
	"time"

	"github.com/goccy/go-json"
)

// The versions of the manifest. An increment has one of its own, so that a version of pixd which
// knows no increments says that it cannot read them.
const (
	Format          = 1 // of a snapshot that has all its files
	FormatIncrement = 2 // of an increment; the newest that this package reads
)

// Manifest says what a snapshot is a copy of.
type Manifest struct {
	Format    int       `json:"format"`
	CreatedAt time.Time `json:"created_at"`      // UTC, whole seconds
	Engine    string    `json:"engine"`          // version of the program that made the snapshot
	Logs      []Log     `json:"logs"`            // one for each journal; there is one today
	Epoch     uint64    `json:"epoch,omitempty"` // the number of the newest acceptance of a gap in the journal; 0: there was none
	Accounts  int       `json:"accounts"`

	// Sums over all accounts, in base units: they may be more than 64 bits hold.
	Balance *big.Int `json:"balance"`
	Pending *big.Int `json:"pending"`
	MEDHeld *big.Int `json:"med_held"`

	// SimDir is the folder of the in-process simulator's book, which no snapshot has; empty:
	// the scheme is outside the process.
	SimDir string `json:"sim_dir,omitempty"`

	// Base is the name of the snapshot that an increment was made upon; empty: this is none.
	Base  string `json:"base,omitempty"`
	Files []File `json:"files"`
}

// Log is the end of a journal: its newest batch.
type Log struct {
	Log      int       `json:"log"`
	Position uint64    `json:"position"`
	Time     time.Time `json:"time"`
	Sum      string    `json:"sum"` // of the batch, 16 hexadecimal digits
}

// File is one of the files in a snapshot.
type File struct {
	Name   string `json:"name"` // path within the folder, with slashes
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
	In     string `json:"in,omitempty"` // name of the snapshot that has the file's bytes; empty: this one
}

// Size is the number of bytes of all files, also of those whose bytes are in other snapshots.
func (m *Manifest) Size() int64 { return sizeOf(m.Files) }

func sizeOf(files []File) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}

// Position is the position of the first journal's newest batch.
func (m *Manifest) Position() uint64 {
	if len(m.Logs) == 0 {
		return 0
	}
	return m.Logs[0].Position
}

const (
	nameTime   = "20060102T150405Z"
	extension  = ".snap"
	unfinished = ".tmp" // ends the name of a snapshot that is being written
)

var nameForm = regexp.MustCompile(`^pixd-\d{8}T\d{6}Z-(\d+)\.snap$`)

// Name is the name of the snapshot's file.
func (m *Manifest) Name() string {
	return "pixd-" + m.CreatedAt.UTC().Format(nameTime) + "-" + strconv.FormatUint(m.Position(), 10) + extension
}

// IsName tells whether a file's name is a snapshot's.
func IsName(name string) bool { return nameForm.MatchString(name) }

// encode returns the manifest as it is stored.
func (m *Manifest) encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	return append(b, '\n'), nil
}

// newer returns what a manifest of a newer format says of the snapshots that it needs, and of its
// epoch, as far as it says so in the words of this one; nil: it does not. Nothing else may be made of it.
func newer(b []byte) *Manifest {
	m := new(Manifest)
	if json.Unmarshal(b, m) != nil {
		return nil
	}
	return m
}

// decodeManifest decodes a manifest. It refuses one of a newer format, of which it returns what newer
// finds, and one with fields that it does not know.
func decodeManifest(b []byte) (*Manifest, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if version.Format > FormatIncrement {
		return newer(b), fmt.Errorf("a newer version of pixd made it: format %d, this version reads up to %d", version.Format, FormatIncrement)
	}
	m := new(Manifest)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check finds a manifest that Create would not write. Names that leave the folder are such.
func (m *Manifest) check() error {
	if m.Format < 1 || len(m.Logs) == 0 || m.Balance == nil || m.Pending == nil || m.MEDHeld == nil {
		return fmt.Errorf("the manifest is not complete")
	}
	if err := m.checkNeeds(); err != nil {
		return err
	}
	met := map[string]bool{}
	for _, f := range m.Files {
		if !fs.ValidPath(f.Name) || f.Name == "." || f.Size < 0 || met[f.Name] {
			return fmt.Errorf("the manifest names a file %q of %d bytes", f.Name, f.Size)
		}
		met[f.Name] = true
	}
	return nil
}
