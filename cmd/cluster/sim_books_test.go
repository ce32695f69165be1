package cluster

import (
	"encoding/binary"
	"time"

	"pixd/actors/keyed"
	"pixd/wal"
)

// The kinds of records.
const (
	kindWrite   = 1 // the stream's register has a new value
	kindPayment = 2 // the value is the amount, the record's sequence the payment's number
	kindSettled = 3 // of the payment with that number
	kindNotice  = 4 // with that number
)

// books are what an engine has in memory: the owner's, and nobody else's.
type books struct {
	p        *process
	accounts map[wal.Stream]*account
}

// account is what an engine knows of a stream.
type account struct {
	seq, sum uint64
	value    uint64            // of the register
	noticed  map[uint64]bool   // the notices that this engine has booked
	pending  map[uint64]uint64 // the amounts of payments that are not settled, by their numbers
}

// openBooks reads the journal, as an engine does that starts.
func openBooks(p *process) *books {
	k := &books{p: p, accounts: map[wal.Stream]*account{}}
	for _, c := range p.box.l.clients {
		if err := k.open(c.stream); err != nil {
			p.box.l.fail("%s: %v", p.n.self.Run, err)
		}
	}
	return k
}

func (k *books) open(stream wal.Stream) (err error) {
	a := &account{noticed: map[uint64]bool{}, pending: map[uint64]uint64{}}
	k.accounts[stream] = a
	store := k.p.n.store
	if a.seq, a.sum, err = store.Last(stream); err != nil {
		return err
	}
	value, ok, err := store.Get(rowKey('v', stream, 0))
	if err != nil {
		return err
	}
	if ok {
		a.value = binary.BigEndian.Uint64(value)
	}
	return store.Scan(rowKey('p', stream, 0), rowKey('p', stream+1, 0), func(k, v []byte) (bool, error) {
		a.pending[binary.BigEndian.Uint64(k[9:])] = binary.BigEndian.Uint64(v)
		return true, nil
	})
}

// fillNoticed makes the filter over the notices that earlier owners have booked.
func fillNoticed(p *process) *keyed.Filter {
	f := keyed.NewFilter(4 << 10)
	err := p.n.store.Scan([]byte{'n'}, []byte{'n' + 1}, func(k, _ []byte) (bool, error) {
		f.Add(k)
		return true, nil
	})
	if err != nil {
		p.box.l.fail("%s: %v", p.n.self.Run, err)
	}
	f.Ready()
	return f
}

// isNoticed reports whether a notice was booked. The filter says of most that they were not; the row says it of the others.
func (k *books) isNoticed(stream wal.Stream, number uint64) bool {
	key := rowKey('n', stream, number)
	if k.accounts[stream].noticed[number] || !k.p.noticed.MayHave(key) {
		return k.accounts[stream].noticed[number]
	}
	_, is, err := k.p.n.store.Get(key)
	if err != nil {
		k.p.box.l.fail("%s: %v", k.p.n.self.Run, err)
	}
	return is
}

func rowKey(prefix byte, stream wal.Stream, number uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{prefix}, uint64(stream))
	if prefix == 'v' {
		return b
	}
	return binary.BigEndian.AppendUint64(b, number)
}

func eight(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// out is an answer, or whatever else leaves once an entry is durable.
type out struct {
	l    *life
	call int
	then func(err error) // on the life's goroutine
}

// Release implements wal.Out.
func (o out) Release(err error) { o.l.post(o.call, func() { o.then(err) }) }

func (l *life) out(then func(error)) wal.Out { return out{l, l.call(), then} }

// write makes a record and its row, and returns the record's number. The store has it before write
// returns, which lasts as long as the answer where there is nothing to wait for.
func (k *books) write(stream wal.Stream, kind uint8, value uint64, op wal.Op, then func(error)) uint64 {
	a := k.accounts[stream]
	a.seq++
	r := wal.Seal(a.sum, wal.Record{Stream: stream, Seq: a.seq, Kind: kind, Time: int64(a.seq), Body: eight(value)})
	a.sum = r.Sum
	k.p.n.store.Append(&wal.Entry{
		Stream: stream, Expect: a.seq - 1, Records: []wal.Sealed{r}, Out: []wal.Out{k.p.box.l.out(then)},
		Ops: []wal.Op{op, {Kind: wal.OpSet, Key: []byte("w"), Value: []byte(k.p.n.self.Run)}},
	})
	return a.seq
}

// set writes the register.
func (k *books) set(stream wal.Stream, value uint64, then func(error)) {
	k.accounts[stream].value = value
	k.write(stream, kindWrite, value, wal.Op{Kind: wal.OpSet, Key: rowKey('v', stream, 0), Value: eight(value)}, then)
}

// pay books a payment, and submits it once that is durable.
func (k *books) pay(stream wal.Stream, amount uint64, then func(error)) {
	number := k.accounts[stream].seq + 1
	k.accounts[stream].pending[number] = amount
	k.write(stream, kindPayment, amount, wal.Op{Kind: wal.OpSet, Key: rowKey('p', stream, number), Value: eight(amount)}, func(err error) {
		then(err)
		if err == nil {
			k.submit(payment{stream, number}, amount)
		}
	})
}

// resume goes on with the payments that an earlier owner has left.
func (k *books) resume() {
	for _, c := range k.p.box.l.clients {
		for number := range k.accounts[c.stream].seq + 1 {
			if amount, ok := k.accounts[c.stream].pending[number]; ok {
				k.submit(payment{c.stream, number}, amount)
			}
		}
	}
}

// submit has a payment carried out by the scheme, if the node is certain that it is the owner.
func (k *books) submit(of payment, amount uint64) {
	l := k.p.box.l
	delay, call := l.span(time.Second), l.call()
	go func() {
		time.Sleep(delay)
		if !k.p.line.certain() {
			return
		}
		l.post(call, func() {
			l.scheme.submit(l, of, amount)
			if k.p.books == k {
				k.settle(of)
			}
		})
	}()
}

// settle books that the scheme has carried out a payment.
func (k *books) settle(of payment) {
	a := k.accounts[of.stream]
	if _, ok := a.pending[of.number]; !ok {
		return
	}
	delete(a.pending, of.number)
	k.write(of.stream, kindSettled, of.number, wal.Op{Kind: wal.OpDelete, Key: rowKey('p', of.stream, of.number)}, func(error) {})
}

// notice books a notice of the scheme, and acknowledges it.
func (k *books) notice(stream wal.Stream, number uint64, then func(error)) {
	a := k.accounts[stream]
	if k.isNoticed(stream, number) {
		k.park(stream, then)
		return
	}
	a.noticed[number] = true
	k.write(stream, kindNotice, number, wal.Op{Kind: wal.OpSet, Key: rowKey('n', stream, number), Value: eight(1)}, then)
}

// park releases an answer about a stream once what is in memory is durable.
func (k *books) park(stream wal.Stream, then func(error)) {
	e := &wal.Entry{Stream: stream, Out: []wal.Out{k.p.box.l.out(then)}}
	go k.p.n.store.Append(e)
}

// read reads the register in memory.
func (k *books) read(stream wal.Stream, then func(value uint64, err error)) {
	l, call := k.p.box.l, k.p.box.l.call()
	go func() {
		if !k.p.line.pass(behindDoor) {
			return
		}
		l.post(call, func() {
			value := k.accounts[stream].value
			k.park(stream, func(err error) { then(value, err) })
		})
	}()
}

// look reads the register's row.
func (k *books) look(stream wal.Stream, then func(value uint64)) {
	store, l := k.p.n.store, k.p.box.l
	call := l.call()
	go func() {
		if !k.p.line.pass(behindDoor) {
			return
		}
		var value uint64
		err := store.Look(stream, func(v *wal.View) error {
			row, ok, err := v.Get(rowKey('v', stream, 0))
			if ok {
				value = binary.BigEndian.Uint64(row)
			}
			return err
		})
		if err == nil {
			l.post(call, func() { then(value) })
		}
	}()
}

// payment names a payment.
type payment struct {
	stream wal.Stream
	number uint64
}

// scheme carries each payment out once.
type scheme struct {
	paid map[payment]uint64
}

func (s *scheme) submit(l *life, of payment, amount uint64) {
	l.count("payment submitted")
	if before, ok := s.paid[of]; ok && before != amount {
		l.fail("payment %v was submitted with the amount %d and with %d", of, before, amount)
	}
	s.paid[of] = amount
	l.tell("the scheme pays %d for %v", amount, of)
}
