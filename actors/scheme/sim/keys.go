package sim

import (
	"context"

	"pixd/actors/pix"
	"pixd/wal"
)

// RegisterKey registers one of the engine's keys, so that customers can pay to it.
func (s *Sim) RegisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	row := keyRow{Account: a, Type: k.Type}
	return s.changeKey(ctx, k.Value, set(key(rowKey, k.Value), row), &row, func(known keyRow, ok bool) bool {
		return ok && known == row
	})
}

// DeregisterKey implements scheme.Scheme. A payment that is being made to the key at the same
// time may still arrive.
func (s *Sim) DeregisterKey(ctx context.Context, k pix.Key, a pix.AccountID) error {
	return s.changeKey(ctx, k.Value, wal.Op{Kind: wal.OpDelete, Key: key(rowKey, k.Value)}, nil, func(known keyRow, ok bool) bool {
		return !ok || known.Account != a
	})
}

// changeKey changes a key's row to what row points to, unless done says of the present row
// that nothing is to be changed. It returns once the row that it leaves behind is durable.
func (s *Sim) changeKey(ctx context.Context, name string, op wal.Op, row *keyRow, done func(known keyRow, ok bool) bool) error {
	durable, err := s.writeKey(name, op, row, done)
	if err != nil || durable == nil {
		return err
	}
	return wait(ctx, durable)
}

// writeKey queues a change of a key's row. The channel is nil where there is nothing to wait
// for.
func (s *Sim) writeKey(name string, op wal.Op, row *keyRow, done func(known keyRow, ok bool) bool) (<-chan error, error) {
	s.order.Lock() // so that rows of one key are appended in the order in which the map has them
	defer s.order.Unlock()
	known, ok, err := s.key(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	_, onItsWay := s.keys[name]
	if done(known, ok) {
		s.mu.Unlock()
		if !onItsWay {
			return nil, nil
		}
		return s.append(nil, nil), nil // durable once the change on its way is
	}
	s.changes++
	change := s.changes
	s.keys[name] = keyChange{row, change}
	s.mu.Unlock()
	return s.append([]wal.Op{op}, func() { s.keyWritten(name, change) }), nil
}

// keyWritten says that a change of a key's row is durable. From then on the key is read from
// its row, unless a later change of it is on its way.
func (s *Sim) keyWritten(name string, change uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[name].number == change {
		delete(s.keys, name)
	}
}

// keyChange is a change of a key's row that is not durable yet.
type keyChange struct {
	row    *keyRow // nil: the key is taken away
	number uint64  // later changes have greater numbers
}

func (s *Sim) key(k string) (row keyRow, ok bool, err error) {
	s.mu.Lock()
	change, changed := s.keys[k]
	s.mu.Unlock()
	if changed {
		if change.row == nil {
			return row, false, nil
		}
		return *change.row, true, nil
	}
	ok, err = read(s.store, key(rowKey, k), &row)
	return row, ok, err
}
