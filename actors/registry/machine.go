package registry

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/ledger"
)

// RecordKind is what happened in the registry. Its values are stored; they
// start where the ledger's end.
type RecordKind uint8

// The kinds of the registry's records. Each carries the entry whole, as it is
// after the record.
const (
	AccountRegistered RecordKind = 64
	AccountChanged    RecordKind = 65 // its active flag
	APIKeyMade        RecordKind = 66
	APIKeyChanged     RecordKind = 67 // permissions, whitelist, expiry or active flag
	PixKeyReserved    RecordKind = 68
	PixKeyRegistered  RecordKind = 69
	EndToEndReserved  RecordKind = 70 // a merchant's own end-to-end id
)

// kinds has a row for each: its name, and how the entry that it carries is taken in;
// false where it carries another's.
var kinds = map[RecordKind]struct {
	name  string
	apply func(*Machine, *Record) bool
}{
	AccountRegistered: {"account.registered", (*Machine).applyAccount},
	AccountChanged:    {"account.changed", (*Machine).applyAccount},
	APIKeyMade:        {"api_key.made", (*Machine).applyAPIKey},
	APIKeyChanged:     {"api_key.changed", (*Machine).applyAPIKey},
	PixKeyReserved:    {"pix_key.reserved", (*Machine).applyPixKey},
	PixKeyRegistered:  {"pix_key.registered", (*Machine).applyPixKey},
	EndToEndReserved:  {"end_to_end.reserved", (*Machine).applyEndToEnd},
}

// String is the kind's name in dumps and messages.
func (k RecordKind) String() string {
	if row, ok := kinds[k]; ok {
		return row.name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Record is one thing that happened; one of the four entries is set.
type Record struct {
	Kind    RecordKind    `cbor:"-"`
	Seq     uint64        `cbor:"-"`
	Time    ledger.Millis `cbor:"-"`
	Account *Account      `cbor:"1,keyasint,omitempty"`
	APIKey  *APIKey       `cbor:"2,keyasint,omitempty"`
	PixKey  *PixKey       `cbor:"3,keyasint,omitempty"`

	EndToEnd *EndToEndReservation `cbor:"4,keyasint,omitempty"`
}

var (
	encoding, _ = cbor.CoreDetEncOptions().EncMode()
	decoding, _ = cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode()
)

// Encode is the record's body as it is journaled.
func (r *Record) Encode() []byte {
	b, err := encoding.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("registry: encode %v: %v", r.Kind, err))
	}
	return b
}

// Decode reads what Encode wrote. A kind or field that this version does not
// know is an error.
func (r *Record) Decode(b []byte) error {
	if _, known := kinds[r.Kind]; !known {
		return fmt.Errorf("registry: record %d: unknown kind %d", r.Seq, r.Kind)
	}
	if err := decoding.Unmarshal(b, r); err != nil {
		return fmt.Errorf("registry: record %d (%v): %w", r.Seq, r.Kind, err)
	}
	return nil
}

// What the registry refuses.
var (
	ErrUnknownAccount = errors.New("account is unknown")
	ErrUnknownKey     = errors.New("API key is unknown")
	ErrKeyTaken       = errors.New("PIX key belongs to another account")
	ErrExists         = errors.New("exists already")
	ErrReserved       = errors.New("the number is reserved")
)

// Machine is the registry's state: what every record so far has made of it, save
// the reservations that are on disk, which lie in rows.
type Machine struct {
	Seq          uint64
	Time         ledger.Millis
	accounts     map[ledger.AccountID]*Account
	order        []ledger.AccountID // by creation
	apiKeys      map[string]*APIKey
	pixKeys      map[string]*PixKey
	reservations reservations
}

// NewMachine is an empty registry.
func NewMachine() *Machine {
	return &Machine{
		accounts: map[ledger.AccountID]*Account{},
		apiKeys:  map[string]*APIKey{},
		pixKeys:  map[string]*PixKey{},
	}
}

// RegisterAccount makes an account known, with one PIX key of its own.
func (m *Machine) RegisterAccount(a Account, key PixKey) ([]Record, error) {
	if a.ID == 0 || a.ID > ledger.LastAccountID {
		return nil, fmt.Errorf("account %v: %w", a.ID, ErrReserved)
	}
	if m.accounts[a.ID] != nil {
		return nil, fmt.Errorf("account %v: %w", a.ID, ErrExists)
	}
	if m.pixKeys[key.Key] != nil {
		return nil, ErrKeyTaken
	}
	return []Record{{Kind: AccountRegistered, Account: &a}, {Kind: PixKeyReserved, PixKey: &key}}, nil
}

// SetActive turns an account on or off; nothing where it is so already.
func (m *Machine) SetActive(id ledger.AccountID, active bool) ([]Record, error) {
	a := m.accounts[id]
	if a == nil {
		return nil, ErrUnknownAccount
	}
	if a.Active == active {
		return nil, nil
	}
	changed := *a
	changed.Active = active
	return []Record{{Kind: AccountChanged, Account: &changed}}, nil
}

// MakeAPIKey adds a credential to an account.
func (m *Machine) MakeAPIKey(k APIKey) ([]Record, error) {
	if m.accounts[k.Account] == nil {
		return nil, ErrUnknownAccount
	}
	if m.apiKeys[k.ClientID] != nil {
		return nil, fmt.Errorf("API key %s: %w", k.ClientID, ErrExists)
	}
	return []Record{{Kind: APIKeyMade, APIKey: &k}}, nil
}

// ChangeAPIKey puts edit's result in a key's place.
func (m *Machine) ChangeAPIKey(clientID string, edit func(*APIKey)) ([]Record, error) {
	k := m.apiKeys[clientID]
	if k == nil {
		return nil, ErrUnknownKey
	}
	changed := *k
	edit(&changed)
	return []Record{{Kind: APIKeyChanged, APIKey: &changed}}, nil
}

// ReservePixKey gives a key to an account. A reservation that the account repeats
// changes nothing; one of another account is ErrKeyTaken.
func (m *Machine) ReservePixKey(k PixKey) ([]Record, error) {
	if m.accounts[k.Account] == nil {
		return nil, ErrUnknownAccount
	}
	switch owner := m.pixKeys[k.Key]; {
	case owner == nil:
		return []Record{{Kind: PixKeyReserved, PixKey: &k}}, nil
	case owner.Account == k.Account:
		return nil, nil
	}
	return nil, ErrKeyTaken
}

// RegisteredPixKey notes that the scheme knows a key.
func (m *Machine) RegisteredPixKey(key string) ([]Record, error) {
	k := m.pixKeys[key]
	if k == nil || k.Registered {
		return nil, nil
	}
	changed := *k
	changed.Registered = true
	return []Record{{Kind: PixKeyRegistered, PixKey: &changed}}, nil
}

// Apply takes one record in. Entries are replaced, never changed, because
// readers may hold the old ones.
func (m *Machine) Apply(r *Record) error {
	if r.Seq != m.Seq+1 || r.Time < m.Time {
		return fmt.Errorf("registry: record %d at %v does not follow %d at %v", r.Seq, r.Time, m.Seq, m.Time)
	}
	if row, known := kinds[r.Kind]; !known || !row.apply(m, r) {
		return fmt.Errorf("registry: record %d (%v) carries another entry than its kind's", r.Seq, r.Kind)
	}
	m.Seq, m.Time = r.Seq, r.Time
	return nil
}

func (m *Machine) applyAccount(r *Record) bool {
	if r.Account == nil {
		return false
	}
	a := r.Account
	if old := m.accounts[a.ID]; old != nil {
		a.PixKeys, a.APIKeys = old.PixKeys, old.APIKeys
	} else {
		m.order = append(m.order, a.ID)
	}
	m.accounts[a.ID] = a
	return true
}

func (m *Machine) applyAPIKey(r *Record) bool {
	if r.APIKey == nil {
		return false
	}
	k := r.APIKey
	if old := m.apiKeys[k.ClientID]; old != nil {
		k.prepare(old.uses)
	} else {
		k.prepare(nil)
		m.replace(k.Account, func(a *Account) { a.APIKeys = append(a.APIKeys, k.ClientID) })
	}
	m.apiKeys[k.ClientID] = k
	return true
}

func (m *Machine) applyPixKey(r *Record) bool {
	if r.PixKey == nil {
		return false
	}
	k := r.PixKey
	if m.pixKeys[k.Key] == nil {
		m.replace(k.Account, func(a *Account) { a.PixKeys = append(a.PixKeys, k.Key) })
	}
	m.pixKeys[k.Key] = k
	return true
}

func (m *Machine) applyEndToEnd(r *Record) bool {
	if r.EndToEnd == nil {
		return false
	}
	m.reservations.take(r)
	return true
}

// replace puts an edited copy in an account's place. Its lists may grow in the
// old one's room: nobody else appends, and who holds the old one sees its length.
func (m *Machine) replace(id ledger.AccountID, edit func(*Account)) {
	if old := m.accounts[id]; old != nil {
		a := *old
		edit(&a)
		m.accounts[id] = &a
	}
}
