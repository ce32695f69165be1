package sim

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// An other row is for what Movements lists and no movement is: rejections, reports and payments
// that stay pending for ever. Its key has the instant, a byte that says what it is about, and the
// key of that.
func otherKey(at pix.Millis, tag byte, about string) []byte {
	k := binary.BigEndian.AppendUint64([]byte{rowOther}, uint64(at))
	return append(append(k, tag), about...)
}

func otherRow(at pix.Millis, tag byte, about string) wal.Op {
	return wal.Op{Kind: wal.OpSet, Key: otherKey(at, tag, about), Value: []byte{}}
}

// other is the other row of a payout that does not settle. The end-to-end id is part of the key
// because a payout may be submitted under one id and, after a restore of the engine, another.
func (p *payment) other() wal.Op {
	return otherRow(p.DueAt, rowPayment, string(p.Tx[:])+p.EndToEnd)
}

func (r *refund) other() wal.Op {
	return otherRow(r.DueAt, rowRefund, string(r.Tx[:])+r.EndToEnd)
}

// othersMade is the key of the row which says that every rejection and report has its other row. A
// book that an older version wrote has none.
var othersMade = []byte{rowOther}

// makeOthers adds the other rows to a book that was written by a version without them. If the
// process ends before it is done, the next one does the same again.
func (s *Sim) makeOthers() error {
	if _, made, err := s.store.Get(othersMade); err != nil || made || s.opts.ReadOnly {
		return err
	}
	w := writer{sim: s}
	err := scanRows(s, rowPayment, func(p *payment) error {
		if p.Reason == "" && p.DueAt != never {
			return nil
		}
		return w.add(p.other())
	})
	if err == nil {
		err = scanRows(s, rowRefund, func(r *refund) error {
			if r.Reason == "" {
				return nil
			}
			return w.add(r.other())
		})
	}
	if err == nil {
		err = scanRows(s, rowInfraction, func(i *infraction) error {
			if i.CancelledAt != 0 {
				if err := w.add(otherRow(i.CancelledAt, cancelled, i.ID)); err != nil {
					return err
				}
			}
			return w.add(otherRow(i.At, rowInfraction, i.ID))
		})
	}
	if err != nil {
		return err
	}
	return <-s.append(append(w.ops, wal.Op{Kind: wal.OpSet, Key: othersMade, Value: []byte{}}), nil)
}

// scanRows calls fn with each row of a kind.
func scanRows[R any](s *Sim, tag byte, fn func(*R) error) error {
	return s.store.Scan([]byte{tag}, []byte{tag + 1}, func(k, v []byte) (bool, error) {
		var row R
		err := s.stopped()
		if err == nil {
			err = decode(k, v, &row)
		}
		if err == nil {
			err = fn(&row)
		}
		return true, err
	})
}

// entry is the key of a row that Movements lists, with the row's value.
type entry struct{ key, value []byte }

func (e *entry) at() pix.Millis { return pix.Millis(binary.BigEndian.Uint64(e.key[1:9])) }

// order puts the entries in the order of their instants, within one the movements first: a payment
// comes before the reports about it.
func order(a, b entry) int {
	return cmp.Or(cmp.Compare(a.at(), b.at()), cmp.Compare(b.key[0], a.key[0]), slices.Compare(a.key, b.key))
}

// Movements implements scheme.Scheme.
func (s *Sim) Movements(ctx context.Context, since pix.Millis, after string, most int) (page scheme.MovementPage, err error) {
	moved, other := mark{At: max(since, 0)}.key(), otherKey(max(since, 0), 0, "")
	if after != "" {
		last, err := hex.DecodeString(after)
		if err != nil || len(last) < 9 || last[1]&0x80 != 0 {
			return page, ErrCursor
		}
		moved, other = behind(last)
	}
	here, err := s.readableMark(ctx)
	if err != nil {
		return page, err
	}
	all, left, err := s.entries(moved, other, here, most, after == "")
	if err != nil {
		return page, err
	}
	if page.Left = left; len(all) > most {
		all = all[:most]
		page.Next = hex.EncodeToString(all[most-1].key)
	}
	for i := range all {
		m, there, err := s.listed(&all[i], here.At)
		if err != nil {
			return page, err
		}
		if there {
			page.Movements = append(page.Movements, m)
		}
	}
	return page, nil
}

// behind returns where the movements and the other rows go on after the entry with the key last.
func behind(last []byte) (moved, other []byte) {
	at := (&entry{key: last}).at()
	if last[0] == rowMovement {
		return append(slices.Clone(last), 0), otherKey(at, 0, "")
	}
	return mark{At: at + 1}.key(), append(slices.Clone(last), 0)
}

// entries returns the first entries, in order, one more than most if there are more. left is how many
// follow the first, if it is to be counted.
func (s *Sim) entries(moved, other []byte, here mark, most int, count bool) (all []entry, left int, err error) {
	n := 0
	take := func(tag byte, from []byte) error {
		taken := 0
		return s.store.Scan(from, []byte{tag + 1}, func(k, v []byte) (bool, error) {
			if tag == rowMovement && markOf(k).Number > here.Number {
				return true, nil // booked after the mark here was taken
			}
			if taken <= most {
				all = append(all, entry{slices.Clone(k), slices.Clone(v)})
			}
			taken++
			n++
			return count || taken <= most, nil
		})
	}
	if err := take(rowMovement, moved); err != nil {
		return nil, 0, err
	}
	if err := take(rowOther, other); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(all, order)
	if count {
		left = max(0, n-most)
	}
	return all[:min(len(all), most+1)], left, nil
}

// listed returns what an entry is about, as it is now; false: it is not listed, because the engine
// has refused the payment, another submission of the payout has taken its place, or it has not
// happened yet.
func (s *Sim) listed(e *entry, now pix.Millis) (m scheme.Movement, there bool, err error) {
	if e.key[0] == rowMovement {
		m, there, err = s.listedMovement(e, now)
	} else {
		m, there, err = s.listedOther(e, now)
	}
	if err != nil {
		err = fmt.Errorf("sim: movement %x: %w", e.key, err)
	}
	return m, there, err
}

func (s *Sim) listedMovement(e *entry, now pix.Millis) (out scheme.Movement, there bool, err error) {
	var m movement
	if err := decode(e.key, e.value, &m); err != nil {
		return out, false, err
	}
	switch m.Kind {
	case MovedPayout:
		var p payment
		ok, err := read(s.store, key(rowPayment, string(m.Tx[:])), &p)
		p.EndToEnd, p.DueAt, p.Reason = m.EndToEnd, e.at(), "" // of the submission that the movement is of
		return p.listed(now), true, present(ok, err)
	case MovedRefund:
		var r refund
		ok, err := read(s.store, refundKey(m.Tx, m.ReturnID), &r)
		return r.listed(now), true, present(ok, err)
	case MovedPayment:
		a, err := s.repeated(m.EndToEnd)
		if err := present(a != nil, err); err != nil {
			return out, false, err
		}
		return scheme.Movement{At: e.at(), Notice: a.notice()}, a.RefusedAt == 0, nil
	case MovedReturn:
		all, err := s.returns(m.Tx)
		i := slices.IndexFunc(all, func(r returned) bool { return r.ID == m.ReturnID })
		if err := present(i >= 0, err); err != nil {
			return out, false, err
		}
		return scheme.Movement{At: e.at(), Notice: all[i].notice()}, e.at() <= now, nil
	case MovedRefused:
	}
	return out, false, nil
}

func (s *Sim) listedOther(e *entry, now pix.Millis) (out scheme.Movement, there bool, err error) {
	if len(e.key) < 10 {
		return out, false, nil // othersMade
	}
	about := string(e.key[10:])
	switch tag := e.key[9]; tag {
	case rowPayment:
		var p payment
		ok, err := read(s.store, key(rowPayment, about[:16]), &p)
		return p.listed(now), p.EndToEnd == about[16:], present(ok, err)
	case rowRefund:
		var r refund
		ok, err := read(s.store, key(rowRefund, about), &r)
		return r.listed(now), true, present(ok, err)
	case rowInfraction, cancelled:
		var i infraction
		ok, err := read(s.store, key(rowInfraction, about), &i)
		n := i.opened()
		if tag == cancelled {
			n = i.withdrawn()
		}
		return scheme.Movement{At: e.at(), Notice: n}, true, present(ok, err)
	}
	return out, false, fmt.Errorf("other row of no known kind")
}

// listed is the payout as Movements lists it.
func (p *payment) listed(now pix.Millis) scheme.Movement {
	k, ok := pix.ParseKey(p.KeyType, p.Key)
	if !ok { // a version that did not write the type
		if k, ok = pix.DetectKey(p.Key); !ok {
			k = pix.Key{Type: pix.KeyCPF, Value: p.Key}
		}
	}
	m := scheme.Movement{
		At: p.DueAt, Notice: p.notice(), Owner: owner(k, script(k)),
		Payment: scheme.Payment{
			Tx: p.Tx, Account: p.Account, EndToEnd: p.EndToEnd, Amount: p.Amount, Key: k,
			RecipientISPB: p.RecipientISPB, Description: p.Description, Purpose: p.Purpose,
		},
	}
	if p.DueAt > now {
		m.At, m.Notice.Kind, m.Notice.Reason = p.At, 0, ""
	}
	return m
}

// listed is the refund as Movements lists it.
func (r *refund) listed(now pix.Millis) scheme.Movement {
	m := scheme.Movement{
		At: r.DueAt, Notice: r.notice(),
		Refund: scheme.Refund{
			Tx: r.Tx, Account: r.Account, EndToEnd: r.EndToEnd, Original: r.Original, Amount: r.Amount, Reason: r.ReturnCode, Description: r.Description,
		},
	}
	if r.DueAt > now {
		m.At, m.Notice.Kind, m.Notice.Reason = r.At, 0, ""
	}
	return m
}
