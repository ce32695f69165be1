package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/wal"
	"pixd/wal/waltest"
)

// desk is operators over a store that can be opened again.
type desk struct {
	*Operators
	t     *testing.T
	fs    vfs.FS
	store *wal.Store

	restored pix.Millis
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, fs: vfs.NewMem()}
	d.open()
	t.Cleanup(func() { _ = d.store.Close() })
	return d
}

func (d *desk) open() {
	d.t.Helper()
	var err error
	if d.store, err = wal.Open(wal.Options{Dir: "data", FS: d.fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20}); err == nil {
		d.Operators, err = OpenOperators(d.store, func() pix.Millis { return 7 }, d.restored)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// again closes the store and opens it.
func (d *desk) again() {
	d.t.Helper()
	if err := d.store.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.open()
}

// TestApprovalOfRevoked checks that a first approval is not shown any more once whoever gave it may give none.
func TestApprovalOfRevoked(t *testing.T) {
	d := newDesk(t)
	payout := pix.TxID{1}
	if _, err := d.Add("ana", Writer, "token of ana"); err != nil {
		t.Fatal(err)
	}
	if first, err := d.Approve(payout, "ana"); first != nil || err != nil || d.FirstApproval(payout) == nil {
		t.Fatal(first, err)
	}
	if _, err := d.Revoke("ana"); err != nil || d.FirstApproval(payout) != nil {
		t.Error("revoked: ", d.FirstApproval(payout), err)
	}
	if first, err := d.Approve(payout, Root); first != nil || err != nil || d.FirstApproval(payout).Operator != Root {
		t.Error("the next one: ", first, err)
	}
}

// TestOperatorsSurvive checks that operators, revocations, first approvals and actions are there after a restart, and that
// the stream goes on.
func TestOperatorsSurvive(t *testing.T) {
	d := newDesk(t)
	for name, role := range map[string]Role{"ana": Admin, "bia": Viewer} {
		if _, err := d.Add(name, role, "token of "+name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Revoke("bia"); err != nil {
		t.Fatal(err)
	}
	payout := pix.TxID{1}
	if first, err := d.Approve(payout, "ana"); first != nil || err != nil {
		t.Fatal(first, err)
	}
	ended, err := d.Begin(Action{Operator: "ana", Method: "POST", Path: "/x", Body: "\xff"})
	if err == nil {
		err = d.End(ended, 201)
	}
	open, err2 := d.Begin(Action{Operator: "bia", Method: "POST", Path: "/y"})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	d.again()
	if o := d.WithToken("token of ana"); o == nil || o.Role != Admin || d.WithToken("token of bia") != nil || d.WithToken("") != nil {
		t.Error("ana's token:", o)
	}
	if all := d.All(); len(all) != 2 || all[1].RevokedAt != 7 {
		t.Errorf("%+v", all)
	}
	if _, err := d.Approve(payout, "ana"); !errors.Is(err, ErrApprovedOnce) {
		t.Error(err)
	}
	if first, err := d.Approve(payout, Root); err != nil || first == nil || first.Operator != "ana" {
		t.Error(first, err)
	}
	if err := d.Decided(payout); err != nil || d.FirstApproval(payout) != nil {
		t.Error(err)
	}
	all, next, err := d.Actions("", 0, 10)
	if err != nil || next != 0 || len(all) != 2 || all[0].Number != open.Number || all[0].Status != 0 || all[1].Status != 201 || all[1].Body != "\uFFFD" {
		t.Errorf("%+v %d %v", all, next, err)
	}
	d.again()
	if d.FirstApproval(payout) != nil {
		t.Error("the first approval of a decided payout came back")
	}
	if first, err := d.Approve(payout, Root); first != nil || err != nil {
		t.Error(first, err)
	}
	d.again()
	if a := d.FirstApproval(payout); a == nil || a.Operator != Root {
		t.Error(a)
	}
	d.restored = 7 // the instant of the approval: everything up to it is the snapshot's
	d.again()
	if first, err := d.Approve(payout, "ana"); first != nil || err != nil {
		t.Error("a first approval from before a restore counts:", first, err)
	}
}

// TestFirstApprovalStands checks that a first approval counts only while its operator may still give one.
func TestFirstApprovalStands(t *testing.T) {
	d := newDesk(t)
	for name, lose := range map[string]func(){
		"revoked": func() { _, _ = d.Revoke("revoked") },
		"demoted": func() {
			_, _ = d.Revoke("demoted")
			_, _ = d.Add("demoted", Viewer, "another")
		},
		"kept": func() {},
	} {
		payout := pix.TxID{name[0]}
		if _, err := d.Add(name, Writer, name); err != nil {
			t.Fatal(err)
		}
		if first, err := d.Approve(payout, name); first != nil || err != nil {
			t.Fatal(first, err)
		}
		lose()
		if first, err := d.Approve(payout, Root); (first != nil) != (name == "kept") || err != nil {
			t.Errorf("%s: %v %v", name, first, err)
		}
	}
}

// TestManyOperators checks that there are at most 1000 operators, and that one who was revoked keeps the place.
func TestManyOperators(t *testing.T) {
	d := NewDesk()
	for n := range 1000 {
		r, err := d.Add(Operator{Name: fmt.Sprint("o", n)})
		if err != nil {
			t.Fatal(err)
		}
		r.Seq = d.Seq + 1
		if err := d.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Add(Operator{Name: "one more"}); !errors.Is(err, ErrManyOperator) {
		t.Error(err)
	}
	r, err := d.Revoke("o7", 1)
	if err != nil {
		t.Fatal(err)
	}
	r.Seq = d.Seq + 1
	if err := d.Apply(r); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Add(Operator{Name: "o7"}); err != nil {
		t.Error(err)
	}
	if _, err := d.Revoke("nobody", 1); !errors.Is(err, ErrNoOperator) {
		t.Error(err)
	}
}

// TestActionPages checks that pages of one operator's actions have each of them once, the newest first.
func TestActionPages(t *testing.T) {
	d := newDesk(t)
	for n := range 20 {
		if _, err := d.Begin(Action{Operator: []string{"ana", "bia"}[n%2], Path: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for before := uint64(0); ; {
		all, next, err := d.Actions("bia", before, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			got = append(got, a.Path)
		}
		if before = next; next == 0 {
			break
		}
	}
	if fmt.Sprint(got) != "[19 17 15 13 11 9 7 5 3 1]" {
		t.Error(got)
	}
}

// TestDeskRefusesOthers checks that a record of another stream, and one out of order, is not applied, and that the
// registry's own stream takes no record of operators.
func TestDeskRefusesOthers(t *testing.T) {
	for _, r := range goldenRecords() {
		r.Seq = 1
		if err := NewDesk().Apply(&r); (err == nil) != (r.Kind >= OperatorAdded) {
			t.Errorf("%v: %v", r.Kind, err)
		}
		if err := NewMachine().Apply(&r); err == nil && r.Kind >= OperatorAdded {
			t.Errorf("%v is applied to the registry", r.Kind)
		}
		if r.Seq = 2; NewDesk().Apply(&r) == nil {
			t.Errorf("%v is applied out of order", r.Kind)
		}
	}
}

// TestLongActions checks that a request's body and path are kept up to their bounds, cut between two characters, and
// that a cut is shown.
func TestLongActions(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct{ body, want string }{
		{strings.Repeat("a", longestBody), strings.Repeat("a", longestBody)},
		{strings.Repeat("a", longestBody+1), strings.Repeat("a", longestBody) + "…"},
		{strings.Repeat("a", longestBody-1) + "ção", strings.Repeat("a", longestBody-1) + "…"},
		{strings.Repeat("a", longestBody-2) + "ção", strings.Repeat("a", longestBody-2) + "ç…"},
		{strings.Repeat("\x80", longestBody+1), "…"}, // no character begins there
		{"a\xffb", "a\uFFFDb"},
	} {
		if _, err := d.Begin(Action{Operator: "ana", Method: "POST", Path: "/" + strings.Repeat("p", 1024), Body: c.body}); err != nil {
			t.Fatal(err)
		}
		kept, _, err := d.Actions("", 0, 1)
		if err != nil || len(kept) != 1 {
			t.Fatal(kept, err)
		}
		if kept[0].Body != c.want {
			t.Errorf("of %.20q… (%d bytes) %d bytes are kept, want %d", c.body, len(c.body), len(kept[0].Body), len(c.want))
		}
		if want := "/" + strings.Repeat("p", 1023) + "…"; kept[0].Path != want {
			t.Errorf("a path of %d bytes is kept", len(kept[0].Path))
		}
	}
}

// TestDeskBehindForGood checks that, after the journal refused an entry, every later change of operators is
// answered with an error, also one that would write nothing.
func TestDeskBehindForGood(t *testing.T) {
	j := &refusing{InMemory: waltest.NewInMemory()}
	o, err := OpenOperators(j, func() pix.Millis { return 7 }, 0)
	if err != nil {
		t.Fatal(err)
	}
	j.on = true
	if _, err := o.Add("ana", Admin, "token"); err == nil {
		t.Error("added, and nothing is written")
	}
	j.on = false
	if err := o.Decided(pix.TxID{1}); !errors.Is(err, errBehind) { // there is nothing to write
		t.Errorf("a decision of an approval that is unknown: %v", err)
	}
	for _, name := range []string{"ana", "bia"} {
		if _, err := o.Add(name, Admin, "another token"); !errors.Is(err, errBehind) {
			t.Errorf("%s after a refusal: %v", name, err)
		}
	}
	if all := o.All(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// TestRoleNames checks that each role is written as it is read, and no other name is read.
func TestRoleNames(t *testing.T) {
	for role, name := range map[Role]string{Viewer: "viewer", Writer: "operator", Admin: "admin"} {
		if got, ok := ParseRole(name); got != role || !ok || role.String() != name {
			t.Errorf("%q is read as %v (%v)", name, got, ok)
		}
	}
	for _, name := range []string{"", "root", "Viewer"} {
		if got, ok := ParseRole(name); ok {
			t.Errorf("%q is read as %v", name, got)
		}
	}
	if got := Role(0).String() + ", " + (Admin + 1).String(); got != "role 0, role 4" {
		t.Error(got)
	}
}

// TestOperatorNames checks what can be an operator's name, at the bounds of its length too.
func TestOperatorNames(t *testing.T) {
	for _, name := range []string{"a", "Ana", "ana.b_c-d@e+f", "joão", "7", "a.", "sk", "rooted", strings.Repeat("ã", 39)} {
		if !ValidOperatorName(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{
		"", ".", "...", "root", "Root", "ROOT", "sk_live", "whsec_1", "ana b", "ana/b", "ana\n", "ana\xff", "a:b", strings.Repeat("a", 40),
	} {
		if ValidOperatorName(name) {
			t.Errorf("%q is taken", name)
		}
	}
}

// TestForgetApprovals checks that first approvals of payouts that wait no more are forgotten, and that one is kept whose payout
// waits, or of which that cannot be told.
func TestForgetApprovals(t *testing.T) {
	d := newDesk(t)
	for n := range byte(3) {
		if _, err := d.Approve(pix.TxID{n + 1}, Root); err != nil {
			t.Fatal(err)
		}
	}
	var asked []pix.TxID // in no certain order: the first cannot be told
	no := errors.New("not read")
	err := d.ForgetApprovals(func(payout pix.TxID) (bool, error) {
		asked = append(asked, payout)
		if len(asked) == 1 {
			return false, no
		}
		return len(asked) == 2, nil
	})
	if !errors.Is(err, no) || len(asked) != 3 {
		t.Fatal(asked, err)
	}
	unread, waiting, over := asked[0], asked[1], asked[2]
	for range 2 {
		if d.FirstApproval(over) != nil || d.FirstApproval(waiting) == nil || d.FirstApproval(unread) == nil {
			t.Errorf("kept: %v %v %v", d.FirstApproval(over), d.FirstApproval(waiting), d.FirstApproval(unread))
		}
		d.again()
	}
}
