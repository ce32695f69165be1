package wal

import "fmt"

// The limits of one batch. A larger batch would only add delay.
const (
	batchRecords = 256
	batchBytes   = 1 << 20
)

// tail is the sequence and checksum of a stream's newest record.
type tail struct {
	seq uint64
	sum uint64
}

// known is what the machine knows of a stream.
type known struct {
	tail
	segment uint32 // of the newest record; 0: none
}

// begun is a place that begins in the batch.
type begun struct {
	stream Stream
	first  uint64
}

// Machine decides which entries one batch has. It has no goroutine, clock or I/O. The
// writer tells it the newest record of a stream (Learn), offers it entries (Take), asks for
// the batch row (Seal), writes the batch, and then reports the batch as durable (Durable).
//
// The writer must call Durable before it begins the next batch: a stream is forgotten only
// once its newest record can be read back.
type Machine struct {
	streams map[Stream]known
	newest  Head // the newest batch that was sealed

	segment   uint32  // where the batch's records are; 0: the caller has no segments
	inSegment int     // records of the segment
	most      int     // records of a segment
	begun     []begun // the places that begin in the batch

	entries []*Entry // entries of the batch that is being built, in order
	refused []error  // for each entry, why it was refused; nil: it was accepted
	records int
	bytes   int
	forgets int
	shared  bool // the batch has rows that every copy needs, so it takes a position even without records
	row     rowBuilder
}

// NewMachine makes a machine whose next batch comes after the batch newest.
func NewMachine(newest Head) *Machine {
	m := &Machine{streams: make(map[Stream]known), newest: newest}
	m.row.reset(newest)
	return m
}

// Knows reports whether the machine knows the newest record of e's stream, or does not need
// it because e has no records. If not, the writer must call Learn.
func (m *Machine) Knows(e *Entry) bool {
	if len(e.Records) == 0 {
		return true
	}
	_, ok := m.streams[e.Stream]
	return ok
}

// Learn tells the machine the sequence and checksum of a stream's newest record; 0 and 0
// where the stream has none.
func (m *Machine) Learn(stream Stream, seq, sum uint64) { m.learn(stream, seq, sum, 0) }

func (m *Machine) learn(stream Stream, seq, sum uint64, segment uint32) {
	m.streams[stream] = known{tail{seq, sum}, segment}
}

// Newest returns the newest batch that was sealed.
func (m *Machine) Newest() Head { return m.newest }

// Batch returns the entries of the batch that is being built, in order, and for each the
// reason for its refusal; nil: it was accepted. Both slices are valid until Durable.
func (m *Machine) Batch() (entries []*Entry, refused []error) { return m.entries, m.refused }

// Full reports whether e must wait for the next batch. The first entry of a batch never has
// to, whatever its size, because entries are not split.
func (m *Machine) Full(e *Entry) bool {
	if len(m.entries) == 0 || e.Parked() {
		return false
	}
	return m.records+len(e.Records) > batchRecords || m.bytes+e.size() > batchBytes
}

// Take adds e to the batch. An entry that must be refused keeps its place, with the reason.
func (m *Machine) Take(e *Entry) {
	m.Refuse(e, m.judge(e))
}

// Refuse adds e to the batch with the caller's verdict: why e is refused; nil: e is
// accepted.
func (m *Machine) Refuse(e *Entry, verdict error) {
	m.entries = append(m.entries, e)
	m.refused = append(m.refused, verdict)
	if verdict != nil {
		return
	}
	for i := range e.Records {
		m.row.add(e.Stream, &e.Records[i])
	}
	if n := len(e.Records); n > 0 {
		if m.streams[e.Stream].segment != m.segment {
			m.begun = append(m.begun, begun{e.Stream, e.Records[0].Seq})
		}
		m.streams[e.Stream] = known{tail{e.Records[n-1].Seq, e.Records[n-1].Sum}, m.segment}
		m.records += n
	}
	m.bytes += e.size()
	m.shared = m.shared || e.Shared && len(e.Ops) > 0
	if e.Forget {
		m.forgets++
	}
}

// judge returns why e must be refused; nil if e's records continue their stream.
func (m *Machine) judge(e *Entry) error {
	if len(e.Records) == 0 {
		return nil
	}
	at := m.streams[e.Stream].tail
	if at.seq != e.Expect {
		return refusal(e.Stream, "it stands at %d, the entry expects %d", at.seq, e.Expect)
	}
	for i := range e.Records {
		r := &e.Records[i]
		if r.Seq != at.seq+1 {
			return refusal(e.Stream, "record %d follows %d", r.Seq, at.seq)
		}
		got, err := Unseal(at.sum, e.Stream, r.Seq, r.Value)
		if err != nil || got.Sum != r.Sum || got.Time != r.Time {
			return refusal(e.Stream, "record %d does not continue the chain", r.Seq)
		}
		at = tail{r.Seq, r.Sum}
	}
	return nil
}

func refusal(stream Stream, format string, args ...any) error {
	return fmt.Errorf("%w: stream %d: %s", ErrSequence, stream, fmt.Sprintf(format, args...))
}

// Seal ends the batch and returns its batch row. The row is empty if the batch has neither
// records nor rows that every copy needs: such a batch takes no position.
func (m *Machine) Seal() (row []byte) {
	if m.records == 0 && !m.shared {
		return nil
	}
	row, m.newest = m.row.finish(m.newest)
	return row
}

// Durable says that the sealed batch is on disk and its Outs are released. The machine then
// begins the next batch.
func (m *Machine) Durable() {
	if m.forgets > 0 {
		for i, e := range m.entries {
			if e.Forget && m.refused[i] == nil {
				delete(m.streams, e.Stream)
			}
		}
	}
	clear(m.entries)
	clear(m.refused)
	m.entries, m.refused = m.entries[:0], m.refused[:0]
	if m.inSegment += m.records; m.inSegment >= m.most && m.segment > 0 {
		m.segment, m.inSegment = m.segment+1, 0
	}
	m.begun = m.begun[:0]
	m.records, m.bytes, m.forgets, m.shared = 0, 0, 0, false
	m.row.reset(m.newest)
}
