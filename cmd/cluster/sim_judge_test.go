package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"pixd/wal"
	"pixd/wal/waltest"
)

// recorder keeps all batches that the log ever had.
type recorder struct {
	reel    *waltest.Reel
	at      uint64
	batches [][]byte
}

func (r *recorder) read() {
	_ = r.reel.Poll(context.Background(), logNumber, &r.at, func(_ uint64, batch []byte) error {
		r.batches = append(r.batches, batch)
		return nil
	})
}

// judge checks the end of a life: the nodes agree, and every answer is still true.
func (l *life) judge() {
	if len(l.wrong) > 0 {
		return
	}
	l.log.read()
	if n := l.serving(); n != 1 {
		l.fail("%d nodes serve at the end", n)
		return
	}
	l.judgeEpochs()
	l.judgeCopies()
	if len(l.wrong) == 0 {
		for _, c := range l.clients {
			l.judgeStream(c)
		}
	}
}

// judgeEpochs checks that each batch was written by the node which was made the owner before.
func (l *life) judgeEpochs() {
	owners := map[uint64]string{}
	for i, batch := range l.log.batches {
		position, epoch := binary.BigEndian.Uint64(batch[11:]), binary.BigEndian.Uint64(batch[3:])
		if position != uint64(i)+1 {
			l.fail("batch %d of the log says that it is batch %d", i+1, position)
			return
		}
		rows := rowsOf(batch)
		if row, ok := rows["!wal/owner"]; ok {
			name, run := textBetween(row, `"name":"`), textBetween(row, `"run":"`)
			if name != "" {
				owners[position] = run
			}
		}
		if by, ok := rows["w"]; ok && by != owners[epoch] {
			l.fail("batch %d of epoch %d was written by %s, and the owner was %q", position, epoch, by, owners[epoch])
		}
	}
}

func textBetween(s, before string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, `"`)
	return s
}

// rowsOf returns the rows that a batch sets.
func rowsOf(batch []byte) map[string]string {
	rows := map[string]string{}
	take := func(p []byte) (string, []byte) {
		n, size := binary.Uvarint(p)
		return string(p[size : size+int(n)]), p[size+int(n):]
	}
	for ops := batch[27 : len(batch)-8]; len(ops) > 0; {
		kind := ops[0]
		var key, value string
		key, ops = take(ops[1:])
		if kind == 1 || kind == 4 {
			value, ops = take(ops)
		}
		if kind == 1 {
			rows[key] = value
		}
	}
	return rows
}

// judgeCopies checks that all machines have the same journal, and that it can be verified.
func (l *life) judgeCopies() {
	want := ""
	for _, b := range l.boxes {
		if b.p == nil {
			l.fail("%s does not run at the end", b.name)
			return
		}
		at, _, _ := b.p.n.store.Head()
		if at != l.log.at {
			l.fail("%s has batch %d at the end, and the log %d", b.name, at, l.log.at)
			return
		}
		is, err := contentOf(b.p.n.store)
		if err == nil {
			_, err = b.p.n.store.Verify(nil, nil)
		}
		if err != nil {
			l.fail("%s: %v", b.name, err)
		}
		if want == "" {
			want = is
		} else if is != want {
			l.fail("the copy of %s differs:\n%s\n%s", b.name, is, want)
		}
	}
}

// contentOf is everything that a store has beside what each machine writes for itself.
func contentOf(s *wal.Store) (string, error) {
	var b strings.Builder
	err := s.Scan([]byte{'!'}, nil, func(k, v []byte) (bool, error) {
		if !bytes.HasPrefix(k, []byte("!wal/verified")) {
			b.WriteString(strconv.Quote(string(k)) + " ")
			b.WriteString(hex.EncodeToString(v) + "\n")
		}
		return true, nil
	})
	return b.String(), err
}

// judgeStream checks a stream's records against what was answered about it.
func (l *life) judgeStream(c *client) {
	written, noticed, settled, payments := map[uint64]bool{}, map[uint64]int{}, map[uint64]int{}, map[uint64]uint64{}
	newest := uint64(0)
	err := l.boxes[0].p.n.store.Read(c.stream, 1, 0, func(r wal.Record) error {
		value := binary.BigEndian.Uint64(r.Body)
		switch r.Kind {
		case kindWrite:
			if value <= newest {
				l.fail("stream %d has %d behind %d", c.stream, value, newest)
			}
			newest, written[value] = value, true
		case kindPayment:
			payments[r.Seq] = value
		case kindSettled:
			settled[value]++
		case kindNotice:
			noticed[value]++
		}
		return nil
	})
	if err != nil {
		l.fail("%v", err)
	}
	c.judgeRegister(written)
	c.judgePayments(payments, settled)
	for number := range c.notices + 1 {
		if c.acked[number] && noticed[number] != 1 || noticed[number] > 1 {
			l.fail("notice %d of stream %d was booked %d times", number, c.stream, noticed[number])
		}
	}
}

func (c *client) judgeRegister(written map[uint64]bool) {
	if c.floor > 0 && !written[c.floor] {
		c.l.fail("%d was written to stream %d or read of it, and the log does not have it", c.floor, c.stream)
	}
	for value := range c.refused {
		if written[value] {
			c.l.fail("%d was refused for stream %d, and the log has it", value, c.stream)
		}
	}
	if c.floor <= c.atHeal {
		c.l.fail("nothing could be written to stream %d after all outages had ended", c.stream)
	}
}

func (c *client) judgePayments(payments map[uint64]uint64, settled map[uint64]int) {
	amounts := map[uint64]bool{}
	for number, amount := range payments {
		amounts[amount] = true
		paid, ok := c.l.scheme.paid[payment{c.stream, number}]
		if settled[number] != 1 || !ok || paid != amount {
			c.l.fail("payment %d of stream %d, of %d, was settled %d times, and the scheme has paid %d", number, c.stream, amount, settled[number], paid)
		}
	}
	for _, amount := range c.paid {
		if !amounts[amount] {
			c.l.fail("the payment of %d was accepted for stream %d, and the log does not have it", amount, c.stream)
		}
	}
	for of, amount := range c.l.scheme.paid {
		if of.stream == c.stream && payments[of.number] != amount {
			c.l.fail("the scheme has paid %d for payment %d of stream %d, which the log does not have", amount, of.number, c.stream)
		}
	}
}
