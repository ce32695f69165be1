package waltest

import (
	"errors"
	"fmt"

	"pixd/wal"
)

func releasesInOrder(b *bench) {
	var want []string
	var tickets []wal.Ticket
	for i := range 500 {
		name := fmt.Sprint(i)
		want = append(want, name)
		tickets = append(tickets, b.Append(b.entry(wal.Stream(i%7), name, name)))
	}
	var got []string
	for i, r := range b.wait(500) {
		b.no(r.err)
		got = append(got, r.name)
		if r.durable < tickets[i] {
			b.Fatalf("entry %d released at durable %d", tickets[i], r.durable)
		}
	}
	b.equal(got, want)
	b.equal(tickets[0], 1)
	b.equal(b.Submitted(), b.Durable())
}

// refused appends a good entry, an entry that spoil has changed, and another good entry. It
// checks that only the changed entry is refused, and that nothing of it is written.
func refused(b *bench, spoil func(*wal.Entry)) {
	b.Append(b.entry(1, "before", "one"))
	keep := b.tails[1]
	bad := b.entry(1, "bad", "two", "three", "four")
	b.tails[1] = keep
	bad.Ops = []wal.Op{set("a", "bad")}
	spoil(bad)
	b.Append(bad)
	b.Append(b.entry(2, "after", "x"))
	got := b.wait(3)
	b.equal([]string{got[0].name, got[1].name, got[2].name}, []string{"before", "bad", "after"})
	b.no(got[0].err)
	b.no(got[2].err)
	if !errors.Is(got[1].err, wal.ErrSequence) {
		b.Fatalf("refused with %v", got[1].err)
	}
	b.equal(b.bodies(1), []string{"one"})
	b.equal(b.rows(b, "a", "z"), []string(nil))
}

func refusesOtherSequence(b *bench) { refused(b, func(e *wal.Entry) { e.Expect++ }) }

func refusesGap(b *bench) {
	refused(b, func(e *wal.Entry) { e.Records = append(e.Records[:1], e.Records[2:]...) })
}

func refusesOtherChain(b *bench) {
	refused(b, func(e *wal.Entry) {
		e.Records[1] = wal.Seal(12345, wal.Record{Stream: 1, Seq: e.Records[1].Seq, Body: []byte("two")})
	})
}

func goesOnAfterRefusal(b *bench) {
	bad := b.entry(1, "bad", "no")
	bad.Expect = 9
	b.tails[1] = newestRecord{}
	b.Append(bad)
	b.Append(b.entry(1, "good", "yes"))
	got := b.wait(2)
	if !errors.Is(got[0].err, wal.ErrSequence) || got[1].err != nil {
		b.Fatal(got)
	}
	b.equal(b.bodies(1), []string{"yes"})
}

func parkedReadWaits(b *bench) {
	for i := range 50 {
		b.Append(b.entry(1, fmt.Sprint(i), "r"))
		b.Append(&wal.Entry{Out: b.out(fmt.Sprintf("parked after %d", i))})
	}
	for i, r := range b.wait(100) {
		want := fmt.Sprint(i / 2)
		if i%2 == 1 {
			want = "parked after " + want
		}
		b.no(r.err)
		b.equal(r.name, want)
	}
}

func parkedReadAtRest(b *bench) {
	b.Append(b.entry(1, "one", "r"))
	b.wait(1)
	t := b.Append(&wal.Entry{Out: b.out("parked")})
	b.equal(b.wait(2)[1].name, "parked")
	b.equal(t, 2)
	b.Append(b.entry(1, "two", "r"))
	b.equal(b.wait(3)[2].name, "two")
	b.equal(b.Durable(), 3)
}

func lazyKeepsItsPlace(b *bench) {
	lazy := b.entry(1, "lazy", "one")
	lazy.Lazy = true
	b.Append(lazy)
	b.Append(b.entry(2, "prompt", "two"))
	got := b.wait(2)
	b.equal([]string{got[0].name, got[1].name}, []string{"lazy", "prompt"})
	alone := b.entry(1, "alone", "three")
	alone.Lazy = true
	b.Append(alone)
	b.no(b.wait(3)[2].err)
	b.equal(b.bodies(1), []string{"one", "three"})
}

func rowsAlone(b *bench) {
	b.Append(&wal.Entry{Ops: []wal.Op{set("a1", "x")}, Out: b.out("rows")})
	b.no(b.wait(1)[0].err)
	b.equal(b.rows(b, "a", "b"), []string{"a1=x"})
	seq, sum, err := b.Last(0)
	b.no(err)
	b.equal([]uint64{seq, sum}, []uint64{0, 0})
}

func deletesRanges(b *bench) {
	e := &wal.Entry{Out: b.out("")}
	for _, k := range []string{"a1", "a2", "a3", "a4", "b1"} {
		e.Ops = append(e.Ops, set(k, k))
	}
	b.Append(e)
	b.Append(&wal.Entry{Ops: []wal.Op{
		{Kind: wal.OpDeleteRange, Key: []byte("a2"), Value: []byte("a4")},
		{Kind: wal.OpDelete, Key: []byte("b1")},
	}, Out: b.out("")})
	b.wait(2)
	b.equal(b.rows(b, "a", "z"), []string{"a1=a1", "a4=a4"})
	_, ok, err := b.Get([]byte("a2"))
	b.no(err)
	b.equal(ok, false)
}

func opsInOrder(b *bench) {
	b.Append(&wal.Entry{Ops: []wal.Op{
		set("a", "1"),
		{Kind: wal.OpDelete, Key: []byte("a")},
		set("b", "1"), set("b", "2"),
		{Kind: wal.OpDeleteRange, Key: []byte("b"), Value: []byte("c")},
		set("b", "3"),
	}, Out: b.out("")})
	b.wait(1)
	b.equal(b.rows(b, "a", "z"), []string{"b=3"})
}

func scansBothWays(b *bench) {
	b.Append(&wal.Entry{Ops: []wal.Op{set("k1", ""), set("k2", ""), set("k3", ""), set("l1", "")}, Out: b.out("")})
	b.wait(1)
	lo, hi := []byte("k"), wal.PrefixEnd([]byte("k"))
	var got []string
	collect := func(limit int) func(k, v []byte) (bool, error) {
		got = nil
		return func(k, _ []byte) (bool, error) {
			got = append(got, string(k))
			return len(got) < limit, nil
		}
	}
	b.no(b.Scan(lo, hi, collect(9)))
	b.equal(got, []string{"k1", "k2", "k3"})
	b.no(b.ScanBack(lo, hi, collect(9)))
	b.equal(got, []string{"k3", "k2", "k1"})
	b.no(b.ScanBack(lo, []byte("k3"), collect(1)))
	b.equal(got, []string{"k2"})
	stop := errors.New("stop")
	err := b.Scan(lo, hi, func(k, v []byte) (bool, error) { return true, stop })
	if !errors.Is(err, stop) {
		b.Fatal(err)
	}
}

func valueIsReaders(b *bench) {
	b.Append(&wal.Entry{Ops: []wal.Op{set("a", "value")}, Out: b.out("")})
	b.wait(1)
	v, _, err := b.Get([]byte("a"))
	b.no(err)
	copy(v, "XXXXX")
	b.equal(b.rows(b, "a", "b"), []string{"a=value"})
}

func viewStands(b *bench) {
	b.Append(&wal.Entry{Ops: []wal.Op{set("a", "old"), set("b", "old")}, Out: b.out("")})
	b.wait(1)
	v := b.View()
	b.Append(&wal.Entry{Ops: []wal.Op{set("a", "new"), {Kind: wal.OpDelete, Key: []byte("b")}}, Out: b.out("")})
	b.wait(2)
	b.equal(b.rows(v, "a", "z"), []string{"a=old", "b=old"})
	got, ok, err := v.Get([]byte("b"))
	b.no(err)
	b.equal([]any{string(got), ok}, []any{"old", true})
	b.no(v.Close())
	b.equal(b.rows(b, "a", "z"), []string{"a=new"})
}

func viewTicket(b *bench) {
	for i := range 200 {
		t := b.Append(&wal.Entry{Ops: []wal.Op{set("a", fmt.Sprint(i))}, Out: b.out("")})
		v := b.View()
		shown, _, err := v.Get([]byte("a"))
		b.no(err)
		if v.Ticket() < t {
			b.Fatalf("view taken after %d says %d, shows %s", t, v.Ticket(), shown)
		}
		b.no(v.Close())
	}
	b.wait(200)
}

func readsBack(b *bench) {
	var want []string
	for i := range 300 {
		body := fmt.Sprint("body ", i)
		want = append(want, body)
		b.Append(b.entry(5, "", body))
	}
	b.wait(300)
	b.equal(b.bodies(5), want)
	seq, sum, err := b.Last(5)
	b.no(err)
	b.equal(newestRecord{seq, sum}, b.tails[5])
	b.equal(b.bodies(6), []string(nil))
}

func readsFromMiddle(b *bench) {
	e := b.entry(5, "", "a", "b", "c", "d")
	b.Append(e)
	b.wait(1)
	var got []string
	b.no(b.Read(5, 3, e.Records[1].Sum, func(r wal.Record) error {
		got = append(got, fmt.Sprintf("%d %d %d %d %s %t", r.Stream, r.Seq, r.Kind, r.Time, r.Body, r.Sum == e.Records[r.Seq-1].Sum))
		return nil
	}))
	b.equal(got, []string{"5 3 1 1002 c true", "5 4 1 1003 d true"})
	b.no(b.Read(5, 5, e.Records[3].Sum, func(wal.Record) error { return errors.New("nothing is there") }))
	stop := errors.New("stop")
	if err := b.Read(5, 1, 0, func(wal.Record) error { return stop }); !errors.Is(err, stop) {
		b.Fatal(err)
	}
}

func readsOtherPrev(b *bench) {
	b.Append(b.entry(5, "", "a", "b"))
	b.wait(1)
	err := b.Read(5, 2, 4711, func(wal.Record) error { return nil })
	var d *wal.Damage
	if !errors.As(err, &d) || d.Stream != 5 || d.Seq != 2 {
		b.Fatalf("%v", err)
	}
}

func forgetsAndGoesOn(b *bench) {
	for i := range 20 {
		e := b.entry(3, "", fmt.Sprint(i))
		e.Forget = i%2 == 0
		b.Append(e)
		b.Append(&wal.Entry{Stream: 3, Forget: true, Out: b.out("")})
	}
	for _, r := range b.wait(40) {
		b.no(r.err)
	}
	b.equal(len(b.bodies(3)), 20)
}

func streamsApart(b *bench) {
	for _, s := range []wal.Stream{0, 1, 255, 256, 1<<64 - 1} {
		b.Append(b.entry(s, "", fmt.Sprint("of ", uint64(s))))
	}
	for _, r := range b.wait(5) {
		b.no(r.err)
	}
	for _, s := range []wal.Stream{0, 1, 255, 256, 1<<64 - 1} {
		b.equal(b.bodies(s), []string{fmt.Sprint("of ", uint64(s))})
	}
}

func metaKept(b *bench) {
	key := wal.MetaKey("epoch")
	b.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: key, Value: []byte("7")}}, Out: b.out("")})
	b.wait(1)
	v, ok, err := b.Get(key)
	b.no(err)
	b.equal([]any{string(v), ok}, []any{"7", true})
}
