package provider

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"pixd/actors/ledger"
)

// Guard is the receiving end of signatures: it lets in what the other side
// signed within the window, and knows which messages were acknowledged.
type Guard struct {
	secret    Secret
	direction Direction
	now       func() ledger.Millis
	stated    func(ledger.Millis)

	mu sync.Mutex
	// Message ids by their hash, so that each costs the same: those in work, and
	// those that were acknowledged, in two generations of which the older is
	// dropped whole.
	inWork       map[[16]byte]struct{}
	fresh, older map[[16]byte]struct{}
	turned       ledger.Millis
}

const (
	// generation is how long ids are remembered at least: a message may say a time
	// a window ahead, and is good until a window after that.
	generation = ledger.Millis(2 * Window / time.Millisecond)
	// generationIDs bounds the memory (two generations of 32 MiB). Beyond it, 870
	// messages a second for ten minutes, the oldest are forgotten early; what they
	// do is idempotent all the same.
	generationIDs = 1 << 19
)

// NewGuard guards what comes in a direction. stated is told the time that each message
// states which comes for the first time and within the window, so that an old one sent
// again says nothing; it may be nil.
func NewGuard(s Secret, d Direction, now func() ledger.Millis, stated func(ledger.Millis)) *Guard {
	if stated == nil {
		stated = func(ledger.Millis) {}
	}
	return &Guard{
		secret: s, direction: d, now: now, stated: stated, turned: now(),
		inWork: map[[16]byte]struct{}{}, fresh: map[[16]byte]struct{}{},
	}
}

// What Admit tells of messages that are not to be carried out.
var (
	// ErrKnown: its first was acknowledged; acknowledge it again, without effect.
	ErrKnown = errors.New("this message was acknowledged before")
	// ErrInWork: its first is being worked on, and what comes of it is open.
	ErrInWork = errors.New("this message is being worked on")
)

// Admit lets a request in. Where the error is nil it is to be carried out, and
// end is to be called when that is done (the first call counts): true where it was
// acknowledged. Any error but ErrKnown and ErrInWork is a message that the other
// side never sent, or not now.
func (g *Guard) Admit(m Message, signature string) (end func(acknowledged bool), err error) {
	m.Direction, m.Status = g.direction, 0
	now := g.now()
	at, err := g.secret.Verify(m, signature, now)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(m.ID))
	id := [16]byte(sum[:])
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn(now)
	if _, ok := g.inWork[id]; ok {
		return nil, ErrInWork
	}
	for _, known := range []map[[16]byte]struct{}{g.fresh, g.older} {
		if _, ok := known[id]; ok {
			return nil, ErrKnown
		}
	}
	g.inWork[id] = struct{}{}
	g.stated(at)
	return func(acknowledged bool) { g.end(id, acknowledged) }, nil
}

func (g *Guard) end(id [16]byte, acknowledged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, open := g.inWork[id]; !open {
		return // it was ended before
	}
	delete(g.inWork, id)
	if acknowledged {
		g.turn(g.now())
		g.fresh[id] = struct{}{}
	}
}

// turn drops the older generation when the fresh one is old or full.
func (g *Guard) turn(now ledger.Millis) {
	if now-g.turned >= generation || len(g.fresh) >= generationIDs {
		g.older, g.fresh, g.turned = g.fresh, map[[16]byte]struct{}{}, now
	}
}

// Answer is the timestamp and the signature of the answer to a request.
func (g *Guard) Answer(request Message, status int, body []byte) (timestamp, signature string) {
	request.Direction, request.Status, request.Body = g.direction.answer(), status, body
	request.Timestamp = g.now().String()
	return request.Timestamp, g.secret.Sign(request)
}
