package cluster

import (
	"context"
	"errors"
	"time"

	"pixd/wal"
)

// in has a step done after a time by the machine's clock.
func (p *process) in(s step, d time.Duration) { p.next[s] = p.box.elapsed() + d }

// soon is how long a call takes.
func (p *process) soon() time.Duration {
	r := p.box.l.rng
	if r.IntN(40) == 0 && p.box.l.outages {
		return time.Duration(r.Int64N(int64(1500 * time.Millisecond)))
	}
	return time.Duration(r.Int64N(int64(20 * time.Millisecond)))
}

// do does a step that is due.
func (p *process) do(s step) {
	p.next[s] = never
	switch s {
	case stepRegister:
		p.register()
	case stepRenew:
		p.renew()
	case stepSend:
		p.answer, p.answerErr = p.n.log.Node(context.Background(), p.renewal.version, p.renewal.text)
		p.in(stepAnswer, p.soon())
	case stepAnswer:
		p.answered()
	case stepAgree:
		p.agree()
	case stepLook:
		p.look()
	case stepSaw:
		if err := p.n.saw(p.states); err != nil {
			p.box.l.fail("%s: %v", p.n.name, err)
		}
		p.in(stepLook, lookEvery)
	case stepFollow:
		p.follow()
	case stepStand:
		p.stand()
	case stepTake:
		p.take()
	case stepServe:
		p.serve()
	case stepTrim:
		p.trim()
	}
}

func (p *process) register() {
	all, err := p.n.log.Nodes(context.Background())
	if err != nil {
		p.in(stepRegister, lookEvery)
		return
	}
	may, err := p.n.mayRegister(all)
	switch {
	case err != nil:
		p.end("its name is taken")
	case may:
		p.renew()
	default:
		p.in(stepRegister, renewEvery/3)
	}
}

func (p *process) renew() {
	var err error
	if p.renewal, err = p.n.renewal(); err != nil {
		p.box.l.fail("%s: %v", p.n.name, err)
	}
	p.in(stepSend, p.soon()/2)
}

func (p *process) answered() {
	again := p.n.written(p.renewal, p.answer, p.answerErr)
	switch {
	case again:
		p.in(stepSend, renewEvery/10)
	case errors.Is(p.answerErr, wal.ErrMoved) && !p.here:
		p.in(stepRegister, renewEvery/3)
	case errors.Is(p.answerErr, wal.ErrMoved):
		p.end("deposed")
	default:
		p.in(stepRenew, renewEvery)
		if !p.here {
			p.here = true
			if p.box.l.outages && p.box.l.rng.IntN(6) == 0 {
				p.box.begin(outageDeaf) // before it has read any node's state
			}
			p.in(stepAgree, 0)
		}
	}
}

// agree begins to follow once all nodes have registered, as nodes do that found a cluster.
func (p *process) agree() {
	all, err := p.line.Reel.Nodes(context.Background()) // later processes ask for the cluster, and not for its nodes
	if err != nil || len(all) < len(p.box.l.boxes) {
		p.in(stepAgree, lookEvery)
		return
	}
	p.n.become(roleStandby)
	p.in(stepLook, 0)
	p.in(stepFollow, 0)
	p.in(stepStand, lookEvery/4)
}

func (p *process) look() {
	all, err := p.n.log.Nodes(context.Background())
	if err != nil {
		p.in(stepLook, lookEvery)
		return
	}
	p.states = all
	p.in(stepSaw, p.soon())
}

// errPaused ends a poll that is to be gone on with later.
var errPaused = errors.New("paused")

func (p *process) follow() {
	left := 1 + p.box.l.rng.IntN(8)
	at, _, _ := p.n.store.Head()
	wrong := p.watchGoesWrong()
	spoilt := false
	err := p.line.Poll(context.Background(), logNumber, &at, func(position uint64, batch []byte) error {
		what := wrong
		wrong = watchIsRight
		if what == watchHasGap {
			spoilt = true
			return nil
		}
		err := p.n.apply(position, batch)
		if err == nil && what == watchRepeats {
			spoilt = true
			err = p.n.apply(position, batch)
		}
		if err != nil {
			return err
		}
		if left--; left == 0 {
			return errPaused
		}
		return nil
	})
	switch {
	case err != nil && spoilt && p.n.broken(err):
		p.box.l.count("a watch was not believed")
		p.end("it follows no more") // an operator starts it again
	case p.n.owns():
		p.opening = true
		p.next[stepStand], p.next[stepTake] = never, never
		p.in(stepServe, p.soon())
	case err == nil, errors.Is(err, errPaused):
		p.in(stepFollow, p.soon())
	default:
		p.n.broken(err)
		p.box.l.fail("%s follows no more: %v", p.n.name, err)
	}
}

// The ways in which what a watch brings is not what the log has.
const (
	watchIsRight = iota
	watchRepeats
	watchHasGap
	watchWays
)

// watchGoesWrong says what the watch does to the first batch that it brings next.
func (p *process) watchGoesWrong() int {
	if !p.box.l.outages || p.box.l.rng.IntN(60) != 0 {
		return watchIsRight
	}
	return 1 + p.box.l.rng.IntN(watchWays-1)
}

func (p *process) stand() {
	t, due := p.n.due()
	if due {
		p.takeover = t
		p.in(stepTake, p.soon()/4)
		if p.box.l.outages && p.box.l.rng.IntN(8) == 0 {
			p.box.freeze()
		}
	} else {
		p.in(stepStand, lookEvery/4)
	}
}

func (p *process) take() {
	err := p.n.take(context.Background(), p.takeover)
	p.box.l.tell("%s takes over, deposing %v: %v", p.n.self.Run, p.takeover.deposed, err)
	if err != nil {
		p.in(stepStand, lookEvery)
	} else {
		p.in(stepStand, lookEvery/4)
	}
}

// serve starts the engine.
func (p *process) serve() {
	l := p.box.l
	if err := p.n.store.Lead(wal.Lead{Log: p.line, Certain: p.line.certain}); err != nil {
		l.fail("%s does not lead: %v", p.n.self.Run, err)
		return
	}
	p.n.become(roleOwner)
	p.opening = false
	p.keeper = &keeper{n: p.n, raise: func(string, string) {}, raised: map[string]bool{}, behind: map[string]time.Duration{}, goal: map[string]uint64{}}
	p.in(stepTrim, trimEvery)
	l.count("takeover")
	if l.serving() > 0 {
		l.count("two nodes serve")
	}
	l.tell("%s serves since batch %d", p.n.self.Run, p.n.store.Owner().Epoch)
	if p.memory == nil {
		p.memory = openBooks(p)
	}
	if p.noticed == nil {
		p.noticed = fillNoticed(p)
	}
	p.books = p.memory
	p.books.resume()
}

func (p *process) trim() {
	p.box.l.log.read()
	if err := p.keeper.trim(context.Background()); err == nil {
		p.box.l.count("trimmed")
	}
	p.keeper.watch()
	p.in(stepTrim, trimEvery)
}
