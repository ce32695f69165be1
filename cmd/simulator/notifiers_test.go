package simulator

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/httpapi/notices"
)

// node is one of an engine's nodes, which answers each notice with what err says.
type node struct {
	url  string
	err  atomic.Pointer[error]
	came atomic.Int64
}

func (n *node) says(err error) { n.err.Store(&err) }

func aNode(t *testing.T, secret provider.Secret) *node {
	t.Helper()
	n := &node{}
	n.says(nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.url = "http://" + l.Addr().String()
	server := &fasthttp.Server{Handler: notices.New(notices.Options{
		Guard: provider.NewGuard(secret, provider.ToEngine, now, nil), Wait: time.Second, Log: slog.New(slog.DiscardHandler),
		Feed: func(_ scheme.Notice, done func(error)) { n.came.Add(1); done(*n.err.Load()) },
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return n
}

func now() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

// TestNotifiersFindNode checks that a notice goes to the node that took the last one, or has refused its payment for good, and
// to each of the others in turn, once, where that one does not take it.
func TestNotifiersFindNode(t *testing.T) {
	c := settings(t)
	secret, err := provider.NewSecret(c.SchemeSecret)
	if err != nil {
		t.Fatal(err)
	}
	all := []*node{aNode(t, secret), aNode(t, secret), aNode(t, secret)}
	c.Engine = all[0].url + "," + all[1].url + "," + all[2].url
	n, err := newNotifiers(&c, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	notice := scheme.Notice{Kind: scheme.PaymentSettled, Tx: pix.TxID{1}, EndToEnd: "E6070119020260301120000000000001"}
	busy := errors.New("busy")
	for i, c := range []struct {
		says [3]error
		want error // the notice's end; nil: it is acknowledged
		came [3]int64
	}{
		{[3]error{nil, nil, nil}, nil, [3]int64{1, 0, 0}},
		{[3]error{busy, busy, nil}, nil, [3]int64{1, 1, 1}},
		{[3]error{nil, nil, nil}, nil, [3]int64{0, 0, 1}}, // it took the last one
		{[3]error{busy, nil, busy}, nil, [3]int64{1, 1, 1}},
		{[3]error{nil, busy, nil}, nil, [3]int64{0, 1, 1}},
		{[3]error{scheme.ErrNoPayee, nil, busy}, scheme.ErrNoPayee, [3]int64{1, 0, 1}},
		{[3]error{nil, nil, nil}, nil, [3]int64{1, 0, 0}}, // it has refused the last one's payment
		{[3]error{busy, busy, busy}, busy, [3]int64{1, 1, 1}},
	} {
		for j, one := range all {
			one.says(c.says[j])
			one.came.Store(0)
		}
		done := make(chan error, 2)
		n.Take(notice, func(err error) { done <- err })
		err := <-done
		if (err == nil) != (c.want == nil) || errors.Is(err, scheme.ErrNoPayee) != errors.Is(c.want, scheme.ErrNoPayee) {
			t.Errorf("notice %d: %v, expected %v", i, err, c.want)
		}
		if errors.Is(c.want, busy) && strings.Count(err.Error(), "503") != 3 {
			t.Errorf("notice %d: %v, expected what each node says", i, err)
		}
		if errors.Is(c.want, scheme.ErrNoPayee) && strings.Contains(err.Error(), "503") {
			t.Errorf("notice %d: %v, expected the refusal alone", i, err)
		}
		if got := [3]int64{all[0].came.Load(), all[1].came.Load(), all[2].came.Load()}; got != c.came {
			t.Errorf("notice %d came %v times, expected %v", i, got, c.came)
		}
	}
}
