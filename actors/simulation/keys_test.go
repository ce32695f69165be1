package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"pixd/actors/account"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
)

// keys is what happens to PIX keys, in one life of three: accounts lose them and others reserve
// them, the engine tells the scheme of it as the engine does, and customers pay to them meanwhile.
// Its random choices are its own, so that a life without it is as it was before there was any.
type keys struct {
	rng    *rand.Rand
	happen bool
	now    bool            // the choices that are drawn now are those of keys
	strays []string        // end-to-end ids of payments to such keys
	copies []scheme.Notice // copies of their notices that are still on the way
}

// keyWork is the part of a process that looks after keys.
type keyWork struct {
	registrar *registry.Registrar
	refusals  *account.Refusals
	next      pix.Millis // simulated time of the registrar's next round
}

func newKeys(seed uint64) keys {
	k := keys{rng: rand.New(rand.NewPCG(seed, 11))}
	k.happen = k.rng.IntN(3) == 0
	return k
}

// dice returns where the next random choice is drawn.
func (l *life) dice() *rand.Rand {
	if l.keys.now {
		return l.keys.rng
	}
	return l.rng
}

// newKeyWork starts what looks after keys in a new process.
func (l *life) newKeyWork() keyWork {
	refusals := &account.Refusals{Journal: l.journal, Known: l.registry.Has, Alerts: l, Stamp: l.time.Stamp}
	if err := refusals.Load(l.journal.Scan); err != nil {
		l.fail("refusals: %v", err)
	}
	r := &registry.Registrar{Registry: l.registry, Scheme: wire{l.outside}, Log: slog.New(&listener{slog.DiscardHandler, l}), Timeout: time.Hour}
	r.Begin(ctx)
	return keyWork{registrar: r, refusals: refusals}
}

// apart draws the choices of f apart.
func (l *life) apart(f func()) {
	if !l.keys.happen || l.journal.Err() != nil {
		return
	}
	l.keys.now = true
	defer func() { l.keys.now = false }()
	f()
}

// turnKeys lets one random thing happen to the PIX keys.
func (l *life) turnKeys() {
	switch l.keys.rng.IntN(50) {
	case 0:
		l.reservePixKey(l.someone())
	case 1, 2:
		l.removePixKey()
	case 3, 4, 5, 6:
		l.payStray()
	case 7, 8:
		l.copyArrives()
	}
	l.tellKeys()
}

// tellKeys lets the registrar work, every five seconds.
func (l *life) tellKeys() {
	if l.clock < l.keyWork.next {
		return
	}
	l.keyWork.next = l.clock + 5_000
	l.registrar.Round(ctx)
}

func (l *life) someKeyName() string { return fmt.Sprintf("loja%d@example.com", l.dice().IntN(6)) }

// removePixKey has an operator take a PIX key from the account that has it.
func (l *life) removePixKey() {
	key := l.someKeyName()
	k, ok := l.registry.PixKey(key)
	if !ok {
		return
	}
	delete(l.pixKeys, key)
	_, err := l.registry.RemovePixKey(k.Account, key)
	if err != nil {
		l.fail("%v removes %s: %v", k.Account, key, err)
	}
	l.count("registry: a PIX key removed")
	if l.odds(2) {
		l.registrar.Tell(key)
	}
}

// payStray has a customer pay to such a key, if the scheme knows it.
func (l *life) payStray() {
	if l.gap != nil {
		return
	}
	key := l.someKeyName()
	p := sim.Payment{Key: key, Amount: 5_000, EndToEnd: fmt.Sprintf("E99999003202603011200stray%06d", len(l.keys.strays))}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := l.outside.sim.Pay(gone, p); errors.Is(err, sim.ErrUnknownKey) {
		return
	} else if err != nil {
		l.fail("pay %s: %v", key, err)
		return
	}
	known, err := l.outside.sim.Know(ctx, p.EndToEnd)
	if err != nil {
		l.fail("%s: %v", p.EndToEnd, err)
	}
	l.outside.paid[p.EndToEnd] = arrived{known.Account, p.Amount, ""}
	l.keys.strays = append(l.keys.strays, p.EndToEnd)
	l.say("a customer pays %s %d as %s", key, p.Amount, p.EndToEnd)
}

// copied keeps a copy of a notice about such a payment: it arrives long after.
func (l *life) copied(n *scheme.Notice) {
	if l.keys.happen && slices.Contains(l.keys.strays, n.EndToEnd) {
		l.keys.copies = append(l.keys.copies, *n)
	}
}

// copyArrives lets one of these copies arrive.
func (l *life) copyArrives() {
	if len(l.keys.copies) == 0 {
		return
	}
	i := l.keys.rng.IntN(len(l.keys.copies))
	n := l.keys.copies[i]
	l.keys.copies = slices.Delete(l.keys.copies, i, i+1)
	l.count("met: a late copy of a payment's notice")
	l.take(delivery{n, func(error) {}})
}

// straysEnded checks, once nothing is left to do, that each payment to a key that changed hands was
// either credited, to the account that was paid, or given back, and that the scheme knows the
// keys that are ours, and no others of these.
func (l *life) straysEnded() {
	if !l.keys.happen || l.gap != nil || len(l.flipped) > 0 {
		return
	}
	for _, endToEnd := range l.keys.strays {
		known, err := l.outside.sim.Know(ctx, endToEnd)
		if err != nil {
			l.fail("%s: %v", endToEnd, err)
		}
		back := known.State.Progress == scheme.Rejected
		for id := range l.all() {
			if credited := l.receivedAs(endToEnd, id) != nil; credited != (id == known.Account && !back) {
				l.fail("%s to %s of %v: credited to %v %v, given back %v", endToEnd, known.Key, known.Account, id, credited, back)
			}
		}
		if _, ours := l.registry.PixKey(known.Key); back && ours {
			l.count("met: a payment given back whose key has an owner again")
		} else if back {
			l.count("met: a payment given back")
		}
		_, _, err = l.outside.sim.Pay(ctx, sim.Payment{Key: known.Key, Amount: known.Amount, EndToEnd: endToEnd}) // a repeat pays nothing
		if k, ours := l.registry.PixKey(known.Key); ours != (err == nil) || ours && !k.Registered {
			l.fail("%s is %+v here (%v), and the scheme says of it %v", known.Key, k, ours, err)
		}
	}
}
