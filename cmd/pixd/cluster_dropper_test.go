package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// way is a direction between two nodes: of what they ask each other, or of their members of etcd.
type way struct {
	from, to string
	etcd     bool
}

// droppers stand in front of the ports at which nodes reach each other, and can hold back whatever goes
// one way. As on a network, what was held back arrives later where its connection still stands.
type droppers struct {
	n *nodes

	mu     sync.Mutex
	turned *sync.Cond
	shut   map[way]bool
}

// divide puts droppers between nodes that have not been started yet.
func (n *nodes) divide() *droppers {
	n.t.Helper()
	d := &droppers{n: n, shut: map[way]bool{}}
	d.turned = sync.NewCond(&d.mu)
	if *clusterPackets {
		d.mark()
		n.t.Cleanup(func() { d.filter("-t", "mangle", "-F", "OUTPUT") })
		return d
	}
	var peers []string
	for i, front := range waltest.FreePorts(n.t, len(n.names), 2) {
		name := n.names[i]
		peers = append(peers, name+"=http://"+front)
		d.stand(front, n.at[name].cluster, name, false)
		d.stand(after(front), after(n.at[name].cluster), name, true)
	}
	n.peers = strings.Join(peers, ",")
	n.t.Cleanup(d.heal)
	return d
}

// stand listens in front of a node's port.
func (d *droppers) stand(front, behind, to string, etcd bool) {
	l, err := net.Listen("tcp4", front)
	if err != nil {
		d.n.t.Fatal(err)
	}
	d.n.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go d.connect(c, behind, to, etcd)
			}
		}
	}()
}

func (d *droppers) connect(c net.Conn, behind, to string, etcd bool) {
	defer func() { _ = c.Close() }()
	from := d.n.whose(c)
	if from == "" {
		return // it has gone already
	}
	s, err := net.DialTimeout("tcp4", behind, 5*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	done := make(chan struct{}, 2)
	go func() { d.copies(s, c, way{from, to, etcd}); done <- struct{}{} }()
	go func() { d.copies(c, s, way{to, from, etcd}); done <- struct{}{} }()
	<-done
}

// copies passes bytes on while the way is open.
func (d *droppers) copies(to io.Writer, from io.Reader, w way) {
	room := make([]byte, 64<<10)
	for {
		n, err := from.Read(room)
		d.mu.Lock()
		for d.shut[w] {
			d.turned.Wait()
		}
		d.mu.Unlock()
		if _, failed := to.Write(room[:n]); err != nil || failed != nil {
			return
		}
	}
}

// cut holds back what goes these ways.
func (d *droppers) cut(ways ...way) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range ways {
		if d.shut[w] = true; *clusterPackets {
			d.drop(w)
		}
	}
}

// heal lets everything pass again.
func (d *droppers) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if clear(d.shut); *clusterPackets {
		d.filter("-F", "OUTPUT")
	}
	d.turned.Broadcast()
}

// ways returns the ways from a node to the others, and those to it.
func (d *droppers) ways(node string, etcdOnly bool) (out, in []way) {
	for _, other := range d.n.names {
		if other == node {
			continue
		}
		out, in = append(out, way{node, other, true}), append(in, way{other, node, true})
		if !etcdOnly {
			out, in = append(out, way{node, other, false}), append(in, way{other, node, false})
		}
	}
	return out, in
}

// whose returns the node whose process has the other end of a connection.
func (n *nodes) whose(c net.Conn) string {
	inode := socketOf(c)
	if inode == "" {
		return ""
	}
	for _, name := range n.names {
		pid, ok := n.pids.Load(name)
		if !ok {
			continue
		}
		open, err := filepath.Glob(fmt.Sprintf("/proc/%v/fd/*", pid))
		if err != nil {
			continue
		}
		for _, fd := range open {
			if is, err := os.Readlink(fd); err == nil && is == "socket:["+inode+"]" {
				return name
			}
		}
	}
	return ""
}

// socketOf returns the inode of the socket at the other end of a connection on this machine.
func socketOf(c net.Conn) string {
	here, there := c.LocalAddr().(*net.TCPAddr).Port, c.RemoteAddr().(*net.TCPAddr).Port
	file, err := os.Open("/proc/net/tcp")
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", there)) && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", here)) {
			return f[9]
		}
	}
	return ""
}

// TestDroppers sends bytes through a dropper, which knows who sends them and holds them back.
func TestDroppers(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	for _, name := range n.names {
		n.pids.Store(name, os.Getpid())
	}
	behind, err := net.Listen("tcp4", n.at["b"].cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = behind.Close() }()
	d := n.divide()
	_, front, _ := strings.Cut(strings.Split(n.peers, ",")[1], "=http://")
	c, err := net.Dial("tcp4", front)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	s, err := behind.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	d.cut(way{"a", "b", false}) // this process is taken for node a
	_, _ = c.Write([]byte("x"))
	_ = s.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if n, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("not held back: ", n, err)
	}
	_, _ = s.Write([]byte("y"))
	if got, err := bufio.NewReader(c).ReadByte(); got != 'y' || err != nil {
		t.Fatal("the other way: ", got, err)
	}
	d.heal()
	_ = s.SetReadDeadline(time.Now().Add(patience))
	if n, err := s.Read(make([]byte, 1)); n != 1 {
		t.Fatal("not passed on later: ", err)
	}
}
