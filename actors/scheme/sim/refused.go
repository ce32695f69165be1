package sim

import "pixd/wal"

// refusedReason is the code under which a customer's payment is known that the engine has
// refused: the account's number is wrong.
const refusedReason = "AC03"

// sendBack gives a payment that the engine has refused back to the customer: the book no
// longer counts it as received, and its notice is not sent again. All of this is one entry. If
// the process ends before the entry is durable, the notice is sent and refused once more.
func (s *Sim) sendBack(i *item) error {
	a, err := s.repeated(i.notice.EndToEnd)
	if err := present(a != nil, err); err != nil {
		return err
	}
	s.order.Lock()
	defer s.order.Unlock()
	a.RefusedAt = s.now()
	back := a.movement()
	back.Kind = MovedRefused
	s.append([]wal.Op{
		set(key(rowArrival, a.EndToEnd), a),
		{Kind: wal.OpDelete, Key: i.key},
		s.movementRow(a.RefusedAt, back),
	}, nil)
	return nil
}
