package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// client is one connection of a load. It is opened for its first request, and again after the
// server or a failure has closed it.
type client struct {
	load   *Load
	number int
	cut    context.Context

	conn net.Conn // nil: not open
	stop func() bool
	in   *bufio.Reader
	body []byte
}

// The bounds on an answer that is read.
const (
	readBuffer    = 8 << 10
	longestAnswer = 64 << 20
	dialTimeout   = 10 * time.Second
)

// exchange sends a request and reads its answer. With an error the connection is closed, and the
// status is 0.
func (c *client) exchange(request []byte) (status int, body []byte, err error) {
	if c.conn == nil {
		if err := c.dial(); err != nil {
			return 0, nil, c.why(err)
		}
	}
	if _, err = c.conn.Write(request); err == nil {
		var last bool
		if status, last, err = c.read(); err == nil {
			if last {
				c.close()
			}
			return status, c.body, nil
		}
	}
	c.close()
	return 0, nil, c.why(err)
}

// why returns why an exchange failed: because the load was cut off, where it was.
func (c *client) why(err error) error {
	if c.cut.Err() != nil {
		return errUnanswered
	}
	return err
}

// errUnanswered is the error for a request that was not answered within lastAnswers after the
// load's end.
var errUnanswered = errors.New("no answer")

func (c *client) dial() error {
	d := net.Dialer{Timeout: dialTimeout}
	if n := len(c.load.From); n > 0 {
		d.LocalAddr = &net.TCPAddr{IP: c.load.From[c.number%n].AsSlice()}
	}
	conn, err := d.DialContext(c.cut, "tcp", c.load.Addr)
	if err != nil {
		return err
	}
	if c.load.TLS != nil {
		conn = tls.Client(conn, c.load.TLS)
	}
	c.conn = conn
	c.stop = context.AfterFunc(c.cut, func() { _ = conn.Close() })
	if c.in == nil {
		c.in = bufio.NewReaderSize(conn, readBuffer)
	} else {
		c.in.Reset(conn)
	}
	return nil
}

func (c *client) close() {
	if c.conn != nil {
		c.stop()
		_ = c.conn.Close()
		c.conn = nil
	}
}

// read reads one HTTP/1.1 answer that has a Content-Length into body. last says that the server
// closes the connection after it.
func (c *client) read() (status int, last bool, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, false, err
	}
	if len(line) < 12 {
		return 0, false, errNoHTTP
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, false, errNoHTTP
	}
	length := -1
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, false, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(v)); err != nil {
				return 0, false, errNoHTTP
			}
		}
		last = last || bytes.EqualFold(line, []byte("Connection: close"))
	}
	if length < 0 || length > longestAnswer {
		return 0, false, fmt.Errorf("%w: no usable Content-Length", errNoHTTP)
	}
	if cap(c.body) < length {
		c.body = make([]byte, length, 2*length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.in, c.body)
	return status, last, err
}

// errNoHTTP is the error for an answer that a load cannot read.
var errNoHTTP = errors.New("no answer in HTTP/1.1 with a Content-Length")

// kindOf names the way in which a request failed, for the table of errors: few names for the
// many texts of the system's errors.
func kindOf(status int, err error) string {
	var timeout net.Error
	switch {
	case err == nil:
		return strconv.Itoa(status)
	case errors.Is(err, errUnanswered):
		return "no answer"
	case errors.Is(err, errNoHTTP):
		return "not HTTP"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no free local port"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	}
	return "connection failed"
}
