package provider

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pixd/actors/pix"
)

const noon = pix.Millis(1_793_275_200_000) // 2026-10-29T12:00:00Z

func secret(t testing.TB, s string) Secret {
	t.Helper()
	got, err := NewSecret(s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const shared = "0123456789abcdef0123456789abcdef"

func TestSecretLength(t *testing.T) {
	if _, err := NewSecret(shared[:31]); err == nil || strings.Contains(err.Error(), shared[:31]) {
		t.Errorf("31 bytes: %v", err)
	}
	s := secret(t, shared)
	if got := fmt.Sprintf("%v %+v %#v %s", s, s, s, s); strings.Contains(got, "0123") || strings.Contains(got, "48") {
		t.Error("a secret shows itself: " + got)
	}
}

// vector is the example message of docs/scheme-protocol.md.
var vector = Message{
	Direction: ToEngine, Method: "POST", Path: PathNotices, Timestamp: "2026-10-29T12:00:00.000Z", ID: "msg-1",
	Body: []byte(`{"kind":"payment_settled","transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E9999900420261029120000000000001"}`),
}

// TestVector checks that Sign gives the signatures that docs/scheme-protocol.md shows.
func TestVector(t *testing.T) {
	page, err := os.ReadFile("../../../docs/scheme-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	s := secret(t, shared)
	answer := vector
	answer.Direction, answer.Status, answer.Body = ToEngine.answer(), 200, []byte("{}")
	for _, text := range []string{shared, string(vector.Body), s.Sign(vector), s.Sign(answer)} {
		if !strings.Contains(string(page), text) {
			t.Errorf("docs/scheme-protocol.md does not show %s", text)
		}
	}
}

// TestExamples checks that every message shown in docs/scheme-protocol.md can be read as a
// message of the path it is shown for, and that encoding it again gives the same text.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../../../docs/scheme-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	again := func(m any, err error) (string, error) { return string(encode(m)), err }
	notice := func(body []byte) (string, error) { n, err := ReadNotice(body); return again(TellNotice(n), err) }
	registration := func(b []byte) (string, error) {
		k, a, err := ReadRegistration(b)
		return again(Registration{keyOf(k), a.String()}, err)
	}
	requests := map[string]func([]byte) (string, error){
		PathNotices: notice, PathRegister: registration, PathDeregister: registration,
		PathLookup: func(b []byte) (string, error) {
			q, err := ReadLookup(b)
			return again(Lookup{q.Tx.String(), q.EndToEnd, q.Account.String(), keyOf(q.Key)}, err)
		},
		PathSubmit: func(b []byte) (string, error) { p, err := ReadPayment(b); return again(paymentOf(p), err) },
		PathReturn: func(b []byte) (string, error) { r, err := ReadReturn(b); return again(returnOf(r), err) },
		PathAsk: func(b []byte) (string, error) {
			tx, e, err := ReadQuestion(b)
			return again(Question{tx.String(), e}, err)
		},
		PathReturned: func(b []byte) (string, error) {
			a, e, err := ReadReturnedQuestion(b)
			return again(ReturnedQuestion{a.String(), e}, err)
		},
		PathBook:         func(b []byte) (string, error) { q, err := ReadBookQuestion(b); return again(q, err) },
		PathMovements:    func(b []byte) (string, error) { q, err := ReadMovementsQuestion(b); return again(q, err) },
		PathCapabilities: func(b []byte) (string, error) { return again(Done{}, decode(b, &Done{}, false)) },
		PathGroup:        func([]byte) (string, error) { return "", errors.New("a group has no object of its own") },
	}
	seen, read := map[string]int{}, (func([]byte) (string, error))(nil)
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSuffix(line, "\n")
		path, posted := strings.CutPrefix(line, "POST ")
		switch {
		case posted:
			if read = requests[path]; read == nil {
				t.Errorf("%s is no path", path)
			}
			seen[path]++
		case line == "```":
			read = nil
		case read != nil && strings.HasPrefix(line, "{"):
			if got, err := read([]byte(line)); err != nil || got != line {
				t.Errorf("%s\nis %s (%v)", line, got, err)
			}
			seen["messages"]++
		case strings.HasPrefix(line, `200 {"returns"`):
			var m ReturnedList
			if err := decode([]byte(line[4:]), &m, false); err != nil {
				t.Fatal(err)
			}
			if all, err := m.parse(); err != nil || string(encode(TellReturned(all))) != line[4:] {
				t.Errorf("the returns shown: %v", err)
			}
			seen["returns"]++
		case strings.HasPrefix(line, `200 {"movements"`):
			var m MovementList
			if err := decode([]byte(line[4:]), &m, false); err != nil {
				t.Fatal(err)
			}
			if page, err := m.parse(); err != nil || string(encode(TellMovements(page))) != line[4:] {
				t.Errorf("the movements shown: %v", err)
			}
			seen["movements"]++
		case strings.HasPrefix(line, `200 {"at"`):
			var b Book
			if err := decode([]byte(line[4:]), &b, false); err != nil {
				t.Fatal(err)
			}
			if err := new(pages).add(&b); err != nil || string(encode(b)) != line[4:] {
				t.Errorf("the book shown: %v", err)
			}
			seen["books"]++
		}
	}
	if len(seen) != len(requests)+4 || seen["messages"] != 21 || seen["books"] != 3 || seen["movements"] != 2 || seen["returns"] != 1 {
		t.Errorf("the page shows %v", seen)
	}
}

// TestGroupExample checks that the group shown in docs/scheme-protocol.md can be read and would be
// written as shown, and that the lines shown as its answer have good signatures.
func TestGroupExample(t *testing.T) {
	page, err := os.ReadFile("../../../docs/scheme-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "POST "+PathGroup+"\n")
	example, rest, _ := strings.Cut(example, "```\n")
	parts, err := ReadGroup([]byte(example))
	if err != nil || len(parts) != 2 {
		t.Fatal(parts, err)
	}
	var again []byte
	paths := map[string]string{}
	for _, p := range parts {
		again = p.appendTo(again)
		paths[p.ID] = p.Path
	}
	if string(again) != example {
		t.Errorf("%s\nis written %s", example, again)
	}
	_, answers, _ := strings.Cut(rest, "```\n")
	answers, _, _ = strings.Cut(answers, "\n```")
	for line := range strings.SplitSeq(answers, "\n") {
		a, err := readAnswerLine([]byte(line))
		if err != nil {
			t.Fatal(line, err)
		}
		m := Message{ToScheme.answer(), "POST", paths[a.id], a.at, a.id, a.status, a.body}
		if _, err := secret(t, shared).Verify(m, a.signature, noon); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		delete(paths, a.id)
	}
	if len(paths) != 0 {
		t.Errorf("no answer is shown to %v", paths)
	}
}

// TestVerify checks that a message is refused if any part of it was altered, and that the
// limits of Window are exact to the millisecond.
func TestVerify(t *testing.T) {
	s := secret(t, shared)
	signature := s.Sign(vector)
	if _, err := s.Verify(vector, signature, noon); err != nil {
		t.Fatal(err)
	}
	for what, alter := range map[string]func(*Message){
		"direction":       func(m *Message) { m.Direction = ToScheme },
		"answer":          func(m *Message) { m.Direction = m.Direction.answer() },
		"method":          func(m *Message) { m.Method = "PUT" },
		"path":            func(m *Message) { m.Path += "?" },
		"timestamp":       func(m *Message) { m.Timestamp = "2026-10-29T12:00:00.001Z" },
		"spelt otherwise": func(m *Message) { m.Timestamp = "2026-10-29T12:00:00Z" },
		"id":              func(m *Message) { m.ID = "msg-2" },
		"status":          func(m *Message) { m.Status = 200 },
		"body":            func(m *Message) { m.Body = append([]byte(" "), m.Body...) },
		"moved":           func(m *Message) { m.Path, m.Method = m.Path[1:], m.Method+"/" },
	} {
		m := vector
		alter(&m)
		if _, err := s.Verify(m, signature, noon); !errors.Is(err, errSignature) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, wrong := range []string{"", "v1=", signature[3:], strings.ToUpper(signature), signature + "0", secret(t, shared+"x").Sign(vector)} {
		if _, err := s.Verify(vector, wrong, noon); !errors.Is(err, errSignature) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	const window = pix.Millis(Window / time.Millisecond)
	for now, want := range map[pix.Millis]error{
		noon + window: nil, noon - window: nil, noon + window + 1: errClock, noon - window - 1: errClock,
	} {
		if _, err := s.Verify(vector, signature, now); !errors.Is(err, want) {
			t.Errorf("at %v: %v", now, err)
		}
	}
	for _, m := range []Message{
		{Timestamp: "2026-10-29T12:00:00.000-00:00", ID: "a"},
		{Timestamp: "", ID: "a"},
		{Timestamp: "1793275200", ID: "a"},
		{Timestamp: vector.Timestamp},
		{Timestamp: vector.Timestamp, ID: "a b"},
		{Timestamp: vector.Timestamp, ID: strings.Repeat("a", 65)},
	} {
		if _, err := s.Verify(m, s.Sign(m), noon); err == nil || errors.Is(err, errSignature) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// TestGuard checks that a message is carried out once, and a second time only if the first
// time was not acknowledged.
func TestGuard(t *testing.T) {
	now := noon
	s := secret(t, shared)
	g := NewGuard(s, ToEngine, func() pix.Millis { return now }, nil)
	admit := func(id string) (func(bool), error) {
		m := vector
		m.ID, m.Timestamp = id, now.String()
		return g.Admit(m, s.Sign(m))
	}
	first, err := admit("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admit("a"); !errors.Is(err, ErrInWork) {
		t.Errorf("while in work: %v", err)
	}
	first(false)
	second, err := admit("a")
	if err != nil {
		t.Fatalf("not acknowledged, and again: %v", err)
	}
	first(true) // the second call of first, which must have no effect
	second(true)
	second(false)
	if _, err := admit("a"); !errors.Is(err, ErrKnown) {
		t.Errorf("acknowledged, and again: %v", err)
	}
	late := vector // late's time is Window ahead of the guard's clock, as far as is allowed
	late.ID, late.Timestamp = "b", (now + generation/2).String()
	end, err := g.Admit(late, s.Sign(late))
	if err != nil {
		t.Fatal(err)
	}
	end(true)
	now += generation // now late is exactly Window old: the last time at which it is accepted
	if _, err := g.Admit(late, s.Sign(late)); !errors.Is(err, ErrKnown) {
		t.Errorf("at its last instant: %v", err)
	}
	m := vector
	m.Direction, m.ID, m.Timestamp = ToScheme, "c", now.String()
	if _, err := g.Admit(m, s.Sign(m)); !errors.Is(err, errSignature) {
		t.Errorf("another direction: %v", err)
	}
}

// TestGuardGroup checks that a group is remembered as acknowledged and not as in work, apart from the
// messages, of which none counts as acknowledged by it; that a repeated group is accepted, for its parts
// to be judged; and that a group that was not signed, or not within Window, is not.
func TestGuardGroup(t *testing.T) {
	s := secret(t, shared)
	g := NewGuard(s, ToEngine, func() pix.Millis { return noon }, nil)
	for range 2 {
		if err := g.AdmitGroup(vector, s.Sign(vector)); err != nil || len(g.inWork) != 0 || len(g.fresh) != 1 {
			t.Errorf("%v, %d in work, %d acknowledged", err, len(g.inWork), len(g.fresh))
		}
	}
	old := vector
	old.Timestamp = (noon - 300_001).String()
	if err := g.AdmitGroup(old, s.Sign(old)); !errors.Is(err, errClock) {
		t.Error(err)
	}
	if err := g.AdmitGroup(vector, s.Sign(old)); !errors.Is(err, errSignature) {
		t.Error(err)
	}
	if _, err := g.AdmitPart(vector.ID); err != nil {
		t.Errorf("a message with the group's id: %v", err)
	}
}

// TestGuardForgets checks that the number of remembered ids is bounded.
func TestGuardForgets(t *testing.T) {
	now := noon
	g := NewGuard(secret(t, shared), ToEngine, func() pix.Millis { return now }, nil)
	for n := range 3 * generationIDs {
		id := [16]byte{byte(n), byte(n >> 8), byte(n >> 16)}
		g.inWork[id] = struct{}{}
		g.endWork(id, true)
	}
	if n := len(g.fresh) + len(g.older); n > 2*generationIDs || len(g.inWork) != 0 {
		t.Errorf("%d ids are remembered", n)
	}
	now += generation
	g.turn(now)
	now += generation
	g.turn(now)
	if n := len(g.fresh) + len(g.older); n != 0 {
		t.Errorf("%d ids are remembered for ever", n)
	}
}
