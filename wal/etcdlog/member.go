package etcdlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// waiting is how often Start logs that it waits for the other members.
const waiting = 3 * time.Second

// Member is a member of an etcd in this process. It listens for the other members only; this
// process calls it without a port. Where its disk fails, etcd ends the process.
type Member struct {
	etcd   *embed.Etcd
	client *clientv3.Client
	o      MemberOptions
	end    context.CancelFunc // of what runs beside
	beside sync.WaitGroup

	mu     sync.Mutex
	logs   []*Log // to be closed with the member
	closed sync.Once
}

// Start starts a member and waits until a majority of the members runs, for as long as ctx allows;
// it logs what it waits for. A member whose folder exists goes on where it stood. ErrPutBack: it cannot, and the process
// must end, because what has begun of the member cannot be closed.
func Start(ctx context.Context, o MemberOptions) (*Member, error) {
	o.fill()
	back := &putBack{found: make(chan struct{})}
	defer back.started.Store(true)
	for {
		config, err := o.config(back)
		if err != nil {
			return nil, err
		}
		etcd, err := begin(ctx, config, back)
		if errors.Is(err, ErrPutBack) {
			return nil, fmt.Errorf("etcdlog: start member %s: %w", o.Name, err)
		}
		if err == nil {
			m := &Member{etcd: etcd, client: v3client.New(etcd.Server), o: o}
			life, end := context.WithCancel(context.Background())
			m.end = end
			m.beside.Go(func() { m.keepRoom(life) })
			m.beside.Go(func() { m.watchLeader(life) })
			if err = m.ready(ctx, back); err == nil {
				err = m.vote(ctx, back)
			}
			if errors.Is(err, ErrPutBack) {
				end()
				return nil, err
			}
			if err != nil {
				m.Close()
				return nil, err
			}
			return m, nil
		}
		if ctx.Err() != nil || !o.Join || errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("etcdlog: start member %s: %w", o.Name, err)
		}
		// A member that joins asks the others who they are.
		o.Log.Warn("the member cannot join; trying again", "name", o.Name, "peers", o.others(), "err", err)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("etcdlog: start member %s: %w", o.Name, ctx.Err())
		case <-time.After(waiting):
		}
	}
}

// begin starts etcd. Where ctx ends meanwhile, what has started is stopped later.
func begin(ctx context.Context, config *embed.Config, back *putBack) (*embed.Etcd, error) {
	type started struct {
		etcd *embed.Etcd
		err  error
	}
	done := make(chan started, 1)
	go func() {
		etcd, err := embed.StartEtcd(config)
		done <- started{etcd, err}
	}()
	select {
	case s := <-done:
		return s.etcd, s.err
	case <-back.found:
		return nil, ErrPutBack
	case <-ctx.Done():
		go func() {
			if s := <-done; s.err == nil {
				s.etcd.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// ready waits until the member has a leader and has told the others about itself.
func (m *Member) ready(ctx context.Context, back *putBack) error {
	tick := time.NewTicker(waiting)
	defer tick.Stop()
	for {
		select {
		case <-m.etcd.Server.ReadyNotify():
			return nil
		case <-back.found:
			return fmt.Errorf("etcdlog: start member %s: %w", m.o.Name, ErrPutBack)
		case <-m.etcd.Server.StopNotify():
			return fmt.Errorf("etcdlog: start member %s: it has stopped; it may have been removed", m.o.Name)
		case <-ctx.Done():
			return fmt.Errorf("etcdlog: start member %s: wait for a majority of %s: %w", m.o.Name, m.o.others(), ctx.Err())
		case <-tick.C:
			m.o.Log.Warn("the member waits for a majority of the members", "name", m.o.Name, "peers", m.o.others())
		}
	}
}

// vote makes a member that was added one that counts for the majority, as soon as it has what the
// others have.
func (m *Member) vote(ctx context.Context, back *putBack) error {
	for server := m.etcd.Server; ; {
		self := server.Cluster().Member(server.MemberID()) // etcd's IsLearner panics where there is none
		switch {
		case self == nil:
			return fmt.Errorf("etcdlog: start member %s: it was removed", m.o.Name)
		case !self.IsLearner:
			return nil
		}
		try, cancel := context.WithTimeout(ctx, m.o.Timeout)
		_, err := server.PromoteMember(try, uint64(server.MemberID()))
		cancel()
		if err == nil {
			continue
		}
		m.o.Log.Debug("the member does not count for the majority yet", "name", m.o.Name, "err", err)
		select {
		case <-back.found:
			return fmt.Errorf("etcdlog: start member %s: %w", m.o.Name, ErrPutBack)
		case <-server.StopNotify():
			return fmt.Errorf("etcdlog: start member %s: it has stopped; it may have been removed", m.o.Name)
		case <-ctx.Done():
			return fmt.Errorf("etcdlog: start member %s: catch up with the others: %w", m.o.Name, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Log returns a log in the member's etcd, which is called without a port. The member's Close ends it
// too; closing it does not end the member.
func (m *Member) Log() *Log { return m.under(m.o.Prefix) }

// under returns a log with a prefix of its own.
func (m *Member) under(prefix string) *Log {
	l := newLog(v3client.New(m.etcd.Server), prefix, m.o.Timeout, m.o.Log)
	l.stopping = m.etcd.Server.StoppingNotify()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs = append(m.logs, l)
	return l
}

// Done is closed when the member has ended: after Close, or because it was removed.
func (m *Member) Done() <-chan struct{} { return m.etcd.Server.StopNotify() }

// Leads reports whether the member is the one that leads, so far as it knows.
func (m *Member) Leads() bool { return m.etcd.Server.Leader() == m.etcd.Server.MemberID() }

// leadAgain is the time between two tries to lead. A leader that gives way to a member which does not begin to
// lead takes nothing meanwhile.
const leadAgain = 5 * time.Second

// Lead makes the member the one that leads, which spares each Append a way over the network. It
// returns an error where that is not so when ctx ends; the log works as well then.
func (m *Member) Lead(ctx context.Context) error {
	server := m.etcd.Server
	for !m.Leads() {
		try, cancel := context.WithTimeout(ctx, m.o.Election)
		if leader := server.Leader(); leader != 0 {
			_ = server.MoveLeader(try, uint64(leader), uint64(server.MemberID()))
		} else {
			<-try.Done()
		}
		cancel()
		if m.Leads() {
			break
		}
		select {
		case <-ctx.Done():
			return moved(m.o.Name, ctx.Err())
		case <-time.After(leadAgain):
		}
	}
	return nil
}

// Yield makes the member of a name the one that leads, where this one does. Nothing is written meanwhile. It returns an error
// where that is not so when ctx ends; the log works as well then.
func (m *Member) Yield(ctx context.Context, name string) error {
	if !m.Leads() {
		return nil
	}
	server := m.etcd.Server
	for _, other := range server.Cluster().Members() {
		if other.Name == name {
			return moved(name, server.MoveLeader(ctx, uint64(server.MemberID()), uint64(other.ID)))
		}
	}
	return moved(name, errNoMember)
}

var errNoMember = errors.New("there is no such member")

func moved(name string, err error) error {
	if err != nil {
		return fmt.Errorf("etcdlog: make member %s lead: %w", name, err)
	}
	return nil
}

// Peer is a member of an etcd.
type Peer struct {
	Name string // empty: the member was added and has not been started yet
	URL  string // where the other members reach it
}

// Known returns the members that this one knows of, in no order. It asks nobody.
func (m *Member) Known() (all []Peer) {
	for _, p := range m.etcd.Server.Cluster().Members() {
		all = append(all, Peer{p.Name, strings.Join(p.PeerURLs, ",")})
	}
	return all
}

// Members returns all members, by name.
func (m *Member) Members(ctx context.Context) ([]Peer, error) {
	r, err := m.list(ctx)
	if err != nil {
		return nil, err
	}
	peers := make([]Peer, 0, len(r.Members))
	for _, p := range r.Members {
		peers = append(peers, Peer{p.Name, strings.Join(p.PeerURLs, ",")})
	}
	slices.SortFunc(peers, func(a, b Peer) int { return strings.Compare(a.Name+" "+a.URL, b.Name+" "+b.URL) })
	return peers, nil
}

func (m *Member) list(ctx context.Context) (*clientv3.MemberListResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	r, err := m.client.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcdlog: list members: %w", err)
	}
	return r, nil
}

// ErrMayBeAdded says that there was no answer to tell whether a member was added.
var ErrMayBeAdded = errors.New("it is not known whether it was added")

// AddMember makes the member at a URL one of the etcd's; it does nothing where it is one already, of this name or not
// started yet. The name is the one that it will be started with, with Join. It counts for the majority from when its
// Start has returned; until then no other can be added. etcd refuses a change of its members while it
// has not been connected to a majority of them for 5 s.
func (m *Member) AddMember(ctx context.Context, name, peerURL string) error {
	r, err := m.list(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.Members {
		there := slices.Contains(p.PeerURLs, peerURL)
		if there && (p.Name == "" || p.Name == name) {
			return nil
		}
		if there {
			return fmt.Errorf("etcdlog: add member %s at %s: member %s is there", name, peerURL, p.Name)
		}
		if p.Name == name {
			return fmt.Errorf("etcdlog: add member %s at %s: there is one at %s", name, peerURL, strings.Join(p.PeerURLs, ","))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	if _, err := m.client.MemberAddAsLearner(ctx, []string{peerURL}); err != nil {
		return fmt.Errorf("etcdlog: add member %s at %s: %w", name, peerURL, mayBeAdded(err))
	}
	return nil
}

// mayBeAdded returns the error of a call that adds a member, with ErrMayBeAdded where it is not one with which etcd refuses that.
// That the URL is taken may be the work of an earlier call which has had no answer.
func mayBeAdded(err error) error {
	for _, refused := range []error{rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrTooManyLearners, rpctypes.ErrMemberExist} {
		if errors.Is(err, refused) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrMayBeAdded, err)
}

// RemoveMember removes the member of a name or, where it is empty, the one at a URL; nothing happens where there is none. A
// member that runs ends, and its folder is of no use any more. etcd refuses it where less than a majority of the others would
// be left, or has not been connected for 5 s.
func (m *Member) RemoveMember(ctx context.Context, one Peer) error {
	r, err := m.list(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.Members {
		is := p.Name == one.Name
		if one.Name == "" {
			is = slices.Contains(p.PeerURLs, one.URL)
		}
		if !is {
			continue
		}
		call, cancel := context.WithTimeout(ctx, m.o.Timeout)
		_, err := m.client.MemberRemove(call, p.ID)
		cancel()
		if err != nil {
			return fmt.Errorf("etcdlog: remove member %s: %w", cmp.Or(one.Name, one.URL), err)
		}
	}
	return nil
}

// Close stops the member. Where it leads, another leads first.
func (m *Member) Close() { m.closed.Do(m.stop) }

func (m *Member) stop() {
	m.end()
	m.beside.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.logs {
		_ = l.Close()
	}
	_ = m.client.Close()
	m.etcd.Close()
}
