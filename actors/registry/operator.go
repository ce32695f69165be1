package registry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pixd/actors/cbormap"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// Role says what an operator may do. Its values are stored.
type Role uint8

// The roles of operators. Each may do what those before it may.
const (
	Viewer Role = iota + 1 // reads
	Writer                 // writes too: accounts, approvals, cases, webhooks, snapshots
	Admin                  // manages operators too, accepts doubted clocks, hands a cluster over
)

var roleNames = []string{Viewer: "viewer", Writer: "operator", Admin: "admin"}

// String is the role's name in the operator API.
func (r Role) String() string {
	if r >= Viewer && r <= Admin {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// ParseRole parses a role's name.
func ParseRole(name string) (Role, bool) {
	i := slices.Index(roleNames, name)
	return Role(max(i, 0)), i >= int(Viewer)
}

// Operator is a person with a token of the operator API. Only a hash of the token is kept.
type Operator struct {
	Name      string     `cbor:"1,keyasint"`
	Role      Role       `cbor:"2,keyasint"`
	TokenHash [32]byte   `cbor:"3,keyasint"` // SHA-256 of the token
	CreatedAt pix.Millis `cbor:"4,keyasint"`
	RevokedAt pix.Millis `cbor:"5,keyasint,omitempty"` // 0: the token is valid
}

// Root is the name under which what is done with the token file's token is recorded. No
// operator may have it.
const Root = "root"

// longestName is the largest number of characters in an operator's name: a longer one would be taken for a secret in
// the record of an action.
const longestName = 39

// ValidOperatorName reports whether a text can be an operator's name: 1 to 39 letters, digits and
// ". _ - @ +", not dots alone, nothing that begins as a secret does, and not "root".
func ValidOperatorName(s string) bool {
	for _, c := range s {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !slices.Contains([]rune("._-@+"), c) {
			return false
		}
	}
	if strings.EqualFold(s, Root) || strings.Trim(s, ".") == "" || strings.HasPrefix(s, "sk_") || strings.HasPrefix(s, "whsec_") {
		return false
	}
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= longestName
}

// Action is a write through the operator API: who asked for what, and how it was answered.
type Action struct {
	Number    uint64     `cbor:"1,keyasint"` // sequence of the record that it began with
	Operator  string     `cbor:"2,keyasint"`
	Role      Role       `cbor:"3,keyasint"`
	At        pix.Millis `cbor:"4,keyasint"`
	RequestID string     `cbor:"5,keyasint"`
	Method    string     `cbor:"6,keyasint"`
	Path      string     `cbor:"7,keyasint"` // with its query
	Body      string     `cbor:"8,keyasint"` // as JSON, without what can be a secret; a long one is cut
	Status    uint16     `cbor:"9,keyasint"` // HTTP status of the answer; 0: not answered yet, or the engine ended before
}

// FirstApproval says that one operator has approved a payout that needs two.
type FirstApproval struct {
	Payout   pix.TxID   `cbor:"1,keyasint"`
	Operator string     `cbor:"2,keyasint"`
	At       pix.Millis `cbor:"3,keyasint"`
}

// OperatorStream is the number of the stream with the records of operators and of what they did.
// No start reads it: everything is looked up by its rows.
const OperatorStream = ReservationStream + 1

// Desk is the state of the stream of operators: its newest record, the operators, and the
// payouts that one of two operators has approved.
type Desk struct {
	Seq       uint64
	Time      pix.Millis
	operators map[string]*Operator
	approvals map[pix.TxID]*FirstApproval
}

// NewDesk returns the state of an empty stream.
func NewDesk() *Desk {
	return &Desk{operators: map[string]*Operator{}, approvals: map[pix.TxID]*FirstApproval{}}
}

// Apply takes the stream's next record.
func (d *Desk) Apply(r *Record) error {
	if r.Seq != d.Seq+1 || r.Time < d.Time {
		return fmt.Errorf("registry: operators' record %d at %v does not follow %d at %v", r.Seq, r.Time, d.Seq, d.Time)
	}
	switch {
	case (r.Kind == OperatorAdded || r.Kind == OperatorRevoked) && r.Operator != nil:
		d.operators[r.Operator.Name] = r.Operator
	case (r.Kind == ActionBegun || r.Kind == ActionEnded) && r.Action != nil:
	case r.Kind == FirstApproved && r.Approval != nil:
		d.approvals[r.Approval.Payout] = r.Approval
	case r.Kind == FirstApprovalOver && r.Approval != nil:
		delete(d.approvals, r.Approval.Payout)
	default:
		return fmt.Errorf("registry: record %d (%v) carries another entry than its kind's", r.Seq, r.Kind)
	}
	d.Seq, d.Time = r.Seq, r.Time
	return nil
}

// The errors of changes to operators that are refused.
var (
	ErrNoOperator   = errors.New("operator is unknown")
	ErrManyOperator = errors.New("there are 1000 operators")
	ErrApprovedOnce = errors.New("the operator has approved the payout already")
)

// mostOperators is how many operators there may be, with those who were revoked.
const mostOperators = 1000

// Add adds an operator, or gives one who was revoked a new token and role.
func (d *Desk) Add(o Operator) (*Record, error) {
	was := d.operators[o.Name]
	switch {
	case was != nil && was.RevokedAt == 0:
		return nil, fmt.Errorf("operator %s: %w", o.Name, ErrExists)
	case was == nil && len(d.operators) >= mostOperators:
		return nil, ErrManyOperator
	}
	return &Record{Kind: OperatorAdded, Operator: &o}, nil
}

// Revoke makes an operator's token invalid. It returns no record where it is already.
func (d *Desk) Revoke(name string, now pix.Millis) (*Record, error) {
	o := d.operators[name]
	switch {
	case o == nil:
		return nil, ErrNoOperator
	case o.RevokedAt != 0:
		return nil, nil
	}
	revoked := *o
	revoked.RevokedAt = now
	return &Record{Kind: OperatorRevoked, Operator: &revoked}, nil
}

// Approve records the first of two approvals of a payout. It returns no record where another
// operator has approved it: then this approval is the second. ErrApprovedOnce: it was the same operator. The approval of
// an operator who may not write any more does not count.
func (d *Desk) Approve(a FirstApproval) (r *Record, first *FirstApproval, err error) {
	switch was := d.approvals[a.Payout]; {
	case was == nil || !was.stands(d.operators[was.Operator]):
		return &Record{Kind: FirstApproved, Approval: &a}, nil, nil
	case was.Operator == a.Operator:
		return nil, was, ErrApprovedOnce
	default:
		return nil, was, nil
	}
}

// stands reports whether whoever gave a first approval, who is o, may still give one, with the token of then.
func (a *FirstApproval) stands(o *Operator) bool {
	return a.Operator == Root || o != nil && o.RevokedAt == 0 && o.Role >= Writer && o.CreatedAt <= a.At
}

// Decided forgets the first approval of a payout that was decided. It returns no record where there is
// none.
func (d *Desk) Decided(payout pix.TxID) *Record {
	was := d.approvals[payout]
	if was == nil {
		return nil
	}
	over := *was
	return &Record{Kind: FirstApprovalOver, Approval: &over}
}

// rowDesk is the first byte of the keys of the rows that records of operators write. The second is the kind of row.
const (
	rowDesk     = 'a'
	rowAction   = 'a' // the newest first
	rowApproval = 'f'
	rowOperator = 'o'
)

func deskKey(kind byte, rest []byte) []byte { return append([]byte{rowDesk, kind}, rest...) }

func actionKey(number uint64) []byte {
	return deskKey(rowAction, binary.BigEndian.AppendUint64(nil, math.MaxUint64-number))
}

// projectDesk makes the rows that a record of operators writes.
func projectDesk(r *Record) []layout.Row {
	switch {
	case r.Operator != nil:
		return []layout.Row{{Key: deskKey(rowOperator, []byte(r.Operator.Name)), Value: encoded(r.Operator)}}
	case r.Action != nil:
		return []layout.Row{{Key: actionKey(r.Action.Number), Value: encoded(r.Action)}}
	case r.Kind == FirstApprovalOver:
		return []layout.Row{{Key: deskKey(rowApproval, r.Approval.Payout[:])}}
	default:
		return []layout.Row{{Key: deskKey(rowApproval, r.Approval.Payout[:]), Value: encoded(r.Approval)}}
	}
}

func encoded(entry any) []byte {
	b, err := cbormap.Encoding.Marshal(entry)
	if err != nil {
		panic(fmt.Sprintf("registry: encode %T: %v", entry, err))
	}
	return b
}

// OperatorsNow reads the operators from their rows, as they are stored.
func OperatorsNow(rows layout.Rows) (all []*Operator, err error) {
	return readAll[Operator](rows, rowOperator)
}

// readAll reads all rows of one kind.
func readAll[T any](rows layout.Rows, kind byte) (all []*T, err error) {
	err = rows.Scan(deskKey(kind, nil), deskKey(kind+1, nil), func(_, value []byte) (bool, error) {
		entry := new(T)
		if err := cbormap.Decoding.Unmarshal(value, entry); err != nil {
			return false, err
		}
		all = append(all, entry)
		return true, nil
	})
	return all, err
}

// RowName names the kind of row with this key for an error; empty where it is none of the
// registry's.
func RowName(key []byte) string {
	switch {
	case len(key) > 0 && key[0] == rowReservation:
		return "reservation"
	case len(key) > 1 && key[0] == rowDesk:
		return map[byte]string{rowOperator: "operator", rowAction: "action", rowApproval: "first approval"}[key[1]]
	}
	return ""
}

// StreamName is the name of one of the registry's streams; empty for any other.
func StreamName(s wal.Stream) string {
	return map[wal.Stream]string{Stream: "registry", ReservationStream: "reservations", OperatorStream: "operators"}[s]
}
