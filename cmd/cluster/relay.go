package cluster

import (
	"net"
	"sync"
)

// relay is a port whose connections go to one server at a time: to the forwarder, and to the engine
// while this node is the owner.
type relay struct {
	port net.Listener

	mu  sync.Mutex
	now *share
}

// share is what a server of a relay listens to.
type share struct {
	of    *relay
	conns chan net.Conn
	over  chan struct{} // closed once the connections go elsewhere
	once  sync.Once
}

// newRelay takes connections from the port until it is closed.
func newRelay(port net.Listener) *relay { return &relay{port: port} }

// run accepts connections until the port is closed, and returns why.
func (r *relay) run() error {
	for {
		c, err := r.port.Accept()
		if err != nil {
			return err
		}
		if !r.hand(c) {
			_ = c.Close()
		}
	}
}

// hand gives a connection to whoever has the port; false: nobody does.
func (r *relay) hand(c net.Conn) bool {
	for {
		r.mu.Lock()
		to := r.now
		r.mu.Unlock()
		if to == nil {
			return false
		}
		select {
		case to.conns <- c:
			return true
		case <-to.over: // it has just lost the port; its successor has it
			r.mu.Lock()
			lost := r.now == to
			r.mu.Unlock()
			if lost {
				return false
			}
		}
	}
}

// next returns a listener that has the port from now on. The one before it ends with net.ErrClosed;
// connections that it has accepted are not touched.
func (r *relay) next() *share {
	s := &share{of: r, conns: make(chan net.Conn), over: make(chan struct{})}
	r.mu.Lock()
	old := r.now
	r.now = s
	r.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
	return s
}

// Accept implements net.Listener.
func (s *share) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.over:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: s.of.port.Addr(), Err: net.ErrClosed}
	}
}

// Close implements net.Listener. The port itself stays open.
func (s *share) Close() error {
	s.once.Do(func() { close(s.over) })
	return nil
}

// Addr implements net.Listener.
func (s *share) Addr() net.Addr { return s.of.port.Addr() }
