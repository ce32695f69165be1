package registry

import (
	"errors"
	"fmt"
	"slices"

	"pixd/actors/cbormap"
	"pixd/actors/pix"
)

// RecordKind is the kind of event that a registry record is about. Its values are stored;
// they are larger than the ledger's.
type RecordKind uint8

// The kinds of the registry's records. A record contains the whole entry that it is about,
// in its state after the record.
const (
	AccountRegistered RecordKind = 64
	AccountChanged    RecordKind = 65 // the account became active or inactive
	APIKeyMade        RecordKind = 66
	APIKeyChanged     RecordKind = 67 // permissions, whitelist, expiry or active flag changed
	PixKeyReserved    RecordKind = 68
	PixKeyRegistered  RecordKind = 69
	EndToEndReserved  RecordKind = 70 // an account reserved an end-to-end id that its merchant chose
	PixKeyRemoved     RecordKind = 71 // an account gave a PIX key back; the scheme is still to be told
	PixKeyUnlisted    RecordKind = 72 // the scheme has heard that a PIX key was removed
	OperatorAdded     RecordKind = 73 // an operator got a token
	OperatorRevoked   RecordKind = 74 // the token is invalid from now on
	ActionBegun       RecordKind = 75 // an operator asked for a change
	ActionEnded       RecordKind = 76 // it was answered
	FirstApproved     RecordKind = 77 // the first of two operators approved a payout
	FirstApprovalOver RecordKind = 78 // the payout was decided
)

// kinds has an entry for each record kind: its name, and the function that applies a record
// of the kind. The function returns false where the record does not contain an account, API
// key, PIX key or reservation, as its kind requires.
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
	PixKeyRemoved:     {"pix_key.removed", (*Machine).applyRemoval},
	PixKeyUnlisted:    {"pix_key.unlisted", (*Machine).applyUnlisted},
	OperatorAdded:     {"operator.added", ofDesk},
	OperatorRevoked:   {"operator.revoked", ofDesk},
	ActionBegun:       {"action.begun", ofDesk},
	ActionEnded:       {"action.ended", ofDesk},
	FirstApproved:     {"approval.first", ofDesk},
	FirstApprovalOver: {"approval.over", ofDesk},
}

// ofDesk refuses a record in the registry's own stream that Desk applies in the stream of operators.
func ofDesk(*Machine, *Record) bool { return false }

// String is the kind's name in dumps and messages.
func (k RecordKind) String() string {
	if row, ok := kinds[k]; ok {
		return row.name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Record is one event in the registry. Exactly one of its pointers is set, depending
// on Kind.
type Record struct {
	Kind    RecordKind `cbor:"-"`
	Seq     uint64     `cbor:"-"`
	Time    pix.Millis `cbor:"-"`
	Account *Account   `cbor:"1,keyasint,omitempty"`
	APIKey  *APIKey    `cbor:"2,keyasint,omitempty"`
	PixKey  *PixKey    `cbor:"3,keyasint,omitempty"`

	EndToEnd *EndToEndReservation `cbor:"4,keyasint,omitempty"`
	Operator *Operator            `cbor:"5,keyasint,omitempty"`
	Action   *Action              `cbor:"6,keyasint,omitempty"`
	Approval *FirstApproval       `cbor:"7,keyasint,omitempty"`
}

// Encode encodes the record's body as it is journaled.
func (r *Record) Encode() []byte {
	b, err := cbormap.Encoding.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("registry: encode %v: %v", r.Kind, err))
	}
	return b
}

// Decode decodes a body that Encode has made. A kind or field that this version of the
// engine does not know is an error.
func (r *Record) Decode(b []byte) error {
	if _, known := kinds[r.Kind]; !known {
		return fmt.Errorf("registry: record %d: unknown kind %d", r.Seq, r.Kind)
	}
	if err := cbormap.Decoding.Unmarshal(b, r); err != nil {
		return fmt.Errorf("registry: record %d (%v): %w", r.Seq, r.Kind, err)
	}
	return nil
}

// The errors of changes that the registry refuses.
var (
	ErrUnknownAccount = errors.New("account is unknown")
	ErrUnknownKey     = errors.New("API key is unknown")
	ErrKeyTaken       = errors.New("PIX key belongs to another account")
	ErrNoKey          = errors.New("PIX key is not the account's")
	ErrLastKey        = errors.New("PIX key is the account's last one")
	ErrExists         = errors.New("exists already")
	ErrReserved       = errors.New("the number is reserved")
)

// Machine is the state of accounts, API keys and PIX keys after all records so far. The
// reservations of end-to-end ids have a stream and a state of their own; see Reservations.
type Machine struct {
	Seq      uint64
	Time     pix.Millis
	accounts map[pix.AccountID]*Account
	order    []pix.AccountID // account ids in the order in which the accounts were registered
	apiKeys  map[string]*APIKey
	pixKeys  map[string]*PixKey
	removals map[string]*PixKey // keys that were removed, and of whose removal the scheme has not heard
	given    map[string]bool    // keys that were removed once: another account may have been paid by them
}

// NewMachine makes an empty registry.
func NewMachine() *Machine {
	return &Machine{
		accounts: map[pix.AccountID]*Account{},
		apiKeys:  map[string]*APIKey{},
		pixKeys:  map[string]*PixKey{},
		removals: map[string]*PixKey{},
		given:    map[string]bool{},
	}
}

// RegisterAccount adds an account with its first PIX key.
func (m *Machine) RegisterAccount(a Account, key PixKey) ([]Record, error) {
	if a.ID == 0 || a.ID > pix.LastAccountID {
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

// SetActive makes an account active or inactive. It returns no record where nothing
// changes.
func (m *Machine) SetActive(id pix.AccountID, active bool) ([]Record, error) {
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

// MakeAPIKey adds an API key to an account.
func (m *Machine) MakeAPIKey(k APIKey) ([]Record, error) {
	if m.accounts[k.Account] == nil {
		return nil, ErrUnknownAccount
	}
	if m.apiKeys[k.ClientID] != nil {
		return nil, fmt.Errorf("API key %s: %w", k.ClientID, ErrExists)
	}
	return []Record{{Kind: APIKeyMade, APIKey: &k}}, nil
}

// ChangeAPIKey replaces the entry of an API key by a copy that edit has changed.
func (m *Machine) ChangeAPIKey(clientID string, edit func(*APIKey)) ([]Record, error) {
	k := m.apiKeys[clientID]
	if k == nil {
		return nil, ErrUnknownKey
	}
	changed := *k
	edit(&changed)
	return []Record{{Kind: APIKeyChanged, APIKey: &changed}}, nil
}

// ReservePixKey gives a PIX key to an account. A repeat by the same account changes
// nothing; ErrKeyTaken where the key belongs to another account.
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

// RegisteredPixKey records that the scheme has registered a PIX key. It changes nothing if
// the key was removed since k was read, even if it was reserved again.
func (m *Machine) RegisteredPixKey(k *PixKey) ([]Record, error) {
	now := m.pixKeys[k.Key]
	if now == nil || now.reserved != k.reserved || now.Registered {
		return nil, nil
	}
	changed := *now
	changed.Registered = true
	return []Record{{Kind: PixKeyRegistered, PixKey: &changed}}, nil
}

// RemovePixKey takes a PIX key from an account. ErrNoKey: the account does not have the key;
// ErrLastKey: it has no other.
func (m *Machine) RemovePixKey(id pix.AccountID, key string) ([]Record, error) {
	a, k := m.accounts[id], m.pixKeys[key]
	switch {
	case a == nil:
		return nil, ErrUnknownAccount
	case k == nil || k.Account != id:
		return nil, ErrNoKey
	case len(a.PixKeys) == 1:
		return nil, ErrLastKey
	}
	removed := *k
	return []Record{{Kind: PixKeyRemoved, PixKey: &removed}}, nil
}

// UnlistedPixKey records that the scheme has heard of a removal. It changes nothing if the
// key's removal is no longer open.
func (m *Machine) UnlistedPixKey(k *PixKey) ([]Record, error) {
	open := m.removals[k.Key]
	if open == nil || open.reserved != k.reserved {
		return nil, nil
	}
	heard := *open
	return []Record{{Kind: PixKeyUnlisted, PixKey: &heard}}, nil
}

// Apply applies one record. It replaces entries and never changes them, because readers may
// still use the old ones.
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
	if old := m.pixKeys[k.Key]; old != nil {
		k.reserved, k.moved = old.reserved, old.moved
	} else {
		k.reserved, k.moved = r.Seq, m.given[k.Key]
		m.replace(k.Account, func(a *Account) { a.PixKeys = append(a.PixKeys, k.Key) })
	}
	m.pixKeys[k.Key] = k
	return true
}

// applyRemoval takes a key from its account. If an earlier removal of the key is still open,
// the scheme was not told of the present owner, so that removal alone stays open.
func (m *Machine) applyRemoval(r *Record) bool {
	if r.PixKey == nil {
		return false
	}
	k := r.PixKey
	old := m.pixKeys[k.Key]
	if old == nil || old.Account != k.Account {
		return false
	}
	k.reserved = old.reserved
	m.given[k.Key] = true
	delete(m.pixKeys, k.Key)
	m.replace(k.Account, func(a *Account) {
		a.PixKeys = slices.DeleteFunc(slices.Clone(a.PixKeys), func(key string) bool { return key == k.Key })
	})
	if m.removals[k.Key] == nil {
		m.removals[k.Key] = k
	}
	return true
}

func (m *Machine) applyUnlisted(r *Record) bool {
	if r.PixKey == nil || m.removals[r.PixKey.Key] == nil {
		return false
	}
	delete(m.removals, r.PixKey.Key)
	return true
}

// applyEndToEnd checks a reservation that an earlier version wrote into this stream. It is
// looked up by its row.
func (m *Machine) applyEndToEnd(r *Record) bool { return r.EndToEnd != nil }

// replace replaces an account's entry by an edited copy. The copy's lists may share memory
// with the old entry's lists: only the machine appends to the lists, and a reader of the
// old entry sees the old length. An edit that removes from a list makes a new list.
func (m *Machine) replace(id pix.AccountID, edit func(*Account)) {
	if old := m.accounts[id]; old != nil {
		a := *old
		edit(&a)
		m.accounts[id] = &a
	}
}
