package provider

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"pixd/actors/pix"
)

// Guard checks received messages: it admits those that the other side signed within Window,
// and remembers which of them were acknowledged.
type Guard struct {
	secret    Secret
	direction Direction
	now       func() pix.Millis
	stated    func(pix.Millis)

	mu sync.Mutex
	// Message ids are kept as hashes of equal size. inWork has the ids of messages that are
	// being worked on; fresh and older have the ids of acknowledged messages, in two
	// generations, of which the older one is dropped as a whole.
	inWork       map[[16]byte]struct{}
	fresh, older map[[16]byte]struct{}
	turned       pix.Millis
}

const (
	// generation is the least time in ms for which the id of an acknowledged message is
	// remembered: a message may state a time one Window ahead, and is then accepted until one
	// Window after that time.
	generation = pix.Millis(2 * Window / time.Millisecond)
	// generationIDs bounds the number of ids in a generation (two generations take 32 MiB
	// each). At more than 870 messages a second for ten minutes the oldest ids are forgotten
	// early; repeating their messages still has no effect, because every message is
	// idempotent.
	generationIDs = 1 << 19
)

// NewGuard returns a guard for messages in direction d. It calls stated, unless that is nil,
// with the time in each message that comes for the first time and within Window. A repeated
// message does not count, because its time may be old.
func NewGuard(s Secret, d Direction, now func() pix.Millis, stated func(pix.Millis)) *Guard {
	if stated == nil {
		stated = func(pix.Millis) {}
	}
	return &Guard{
		secret: s, direction: d, now: now, stated: stated, turned: now(),
		inWork: map[[16]byte]struct{}{}, fresh: map[[16]byte]struct{}{},
	}
}

// The errors of Admit for repeated messages, which must not be carried out.
var (
	// ErrKnown: the first copy was acknowledged. This copy is to be acknowledged too, without
	// any effect.
	ErrKnown = errors.New("this message was acknowledged before")
	// ErrInWork: the first copy is being worked on, and its result is not known yet.
	ErrInWork = errors.New("this message is being worked on")
)

// Admit checks a request. If the error is nil, the caller carries the request out and then
// calls end, with whether the request was acknowledged; only the first call of end counts.
// ErrKnown and ErrInWork are for repeated messages. Any other error is for a message that the
// other side did not sign, or not within Window.
func (g *Guard) Admit(m Message, signature string) (end func(acknowledged bool), err error) {
	at, err := g.verify(m, signature)
	if err != nil {
		return nil, err
	}
	if end, err = g.AdmitPart(m.ID); err == nil {
		g.stated(at)
	}
	return end, err
}

// groupMark begins the names under which groups are remembered. No message id has a space.
const groupMark = "group "

// AdmitGroup checks a request that carries a group, of which each part is to be admitted by
// itself, also in a repeated group: a group's id stands for none of them. The error is for a
// request that the other side did not sign, or not within Window.
func (g *Guard) AdmitGroup(m Message, signature string) error {
	at, err := g.verify(m, signature)
	if err != nil {
		return err
	}
	if end, repeated := g.AdmitPart(groupMark + m.ID); repeated == nil {
		end(true)
		g.stated(at)
	}
	return nil
}

func (g *Guard) verify(m Message, signature string) (at pix.Millis, err error) {
	m.Direction, m.Status = g.direction, 0
	return g.secret.Verify(m, signature, g.now())
}

// AdmitPart is Admit for a part of a group that AdmitGroup has accepted; the group's signature
// covers the part.
func (g *Guard) AdmitPart(messageID string) (end func(acknowledged bool), err error) {
	sum := sha256.Sum256([]byte(messageID))
	id := [16]byte(sum[:])
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn(g.now())
	if _, ok := g.inWork[id]; ok {
		return nil, ErrInWork
	}
	for _, known := range []map[[16]byte]struct{}{g.fresh, g.older} {
		if _, ok := known[id]; ok {
			return nil, ErrKnown
		}
	}
	g.inWork[id] = struct{}{}
	return func(acknowledged bool) { g.endWork(id, acknowledged) }, nil
}

func (g *Guard) endWork(id [16]byte, acknowledged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, open := g.inWork[id]; !open {
		return // endWork was called already
	}
	delete(g.inWork, id)
	if acknowledged {
		g.turn(g.now())
		g.fresh[id] = struct{}{}
	}
}

// turn starts a new generation of acknowledged ids if the fresh one is too old or full.
func (g *Guard) turn(now pix.Millis) {
	if now-g.turned >= generation || len(g.fresh) >= generationIDs {
		g.older, g.fresh, g.turned = g.fresh, map[[16]byte]struct{}{}, now
	}
}

// Answer returns the timestamp and the signature of the answer to a request.
func (g *Guard) Answer(request Message, status int, body []byte) (timestamp, signature string) {
	request.Direction, request.Status, request.Body = g.direction.answer(), status, body
	request.Timestamp = g.now().String()
	return request.Timestamp, g.secret.Sign(request)
}
