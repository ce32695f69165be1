package account

import (
	"encoding/binary"
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// HeadRow encodes an account's head as a row: sequence, checksum and time of the newest
// record that the head includes, then the ledger's encoding of the head. sum is that
// record's checksum.
func HeadRow(head *ledger.Account, sum uint64) layout.Row {
	b := binary.BigEndian.AppendUint64(nil, head.Seq)
	b = binary.BigEndian.AppendUint64(b, sum)
	b = binary.BigEndian.AppendUint64(b, uint64(head.Time))
	return layout.Row{Key: layout.HeadKey(head.ID), Value: append(b, head.EncodeHead()...)}
}

const headRowStart = 24

// HeadRowAt returns the sequence of the newest record that a head row includes; false where
// the row holds no sequence.
func HeadRowAt(b []byte) (seq uint64, ok bool) {
	if len(b) < 8 {
		return 0, false
	}
	seq = binary.BigEndian.Uint64(b)
	return seq, seq > 0
}

// DecodeHeadRow decodes a row that HeadRow has encoded.
func DecodeHeadRow(id pix.AccountID, b []byte) (head ledger.Account, sum uint64, err error) {
	head.ID = id
	at, ok := HeadRowAt(b)
	if !ok || len(b) < headRowStart {
		return head, 0, fmt.Errorf("account %v: head row of %d bytes at record %d", id, len(b), at)
	}
	head.Seq, sum = at, binary.BigEndian.Uint64(b[8:])
	head.Time = pix.Millis(binary.BigEndian.Uint64(b[16:]))
	return head, sum, head.DecodeHead(b[headRowStart:])
}
