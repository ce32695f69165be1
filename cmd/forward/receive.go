package forward

import (
	"log/slog"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"

	"pixd/cmd/machine"
	"pixd/httpapi"
)

// hopBytes is how many bytes the hop's headers may take beside the client's, and hopHeaders how many there are.
const (
	hopBytes   = 1 << 10
	hopHeaders = 4
)

// NewServer returns the server of the listener on which other nodes reach this one. It reads
// requests as the public listeners do, with a little more room for headers. Forwarded requests go
// to receive, see Receive, and all others to other; a nil other answers 404. The server must serve
// an httpapi.Connections whose PerIP is 0: all connections come from a few nodes.
func NewServer(receive, other fasthttp.RequestHandler, log *slog.Logger) *fasthttp.Server {
	s := httpapi.NewServer(func(ctx *fasthttp.RequestCtx) {
		ctx.SetRemoteAddr(nil) // that of the connection's last request would stay
		switch {
		case len(ctx.Request.Header.Peek(headerClient)) > 0:
			receive(ctx)
		case other != nil:
			other(ctx)
		default:
			ctx.SetStatusCode(fasthttp.StatusNotFound)
		}
	}, httpapi.ServerOptions{Name: "cluster", NewRequestID: machine.RequestID, MoreHeaders: hopHeaders, Log: log})
	s.ReadBufferSize += hopBytes
	return s
}

// Receive returns a handler of forwarded requests. handlers returns the handler of a face, or nil
// while this node is not the owner; the request is then sent back, before anything is done with
// it. A handler sees the request as its client has sent it, with the client's address.
func Receive(handlers func(face Face) fasthttp.RequestHandler, log *slog.Logger) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Request.Header
		client, face, node, id := one(h, headerClient), one(h, headerFace), string(h.Peek(headerNode)), one(h, headerID)
		if face == faceGreeting {
			ctx.SetStatusCode(fasthttp.StatusNoContent)
			return
		}
		addr, err := netip.ParseAddrPort(client)
		if err != nil || !known(Face(face)) {
			log.Warn("forward: a request that no node sends was refused", "from", ctx.RemoteAddr().String(), "node", node, "face", face)
			ctx.SetStatusCode(fasthttp.StatusBadRequest)
			return
		}
		handle := handlers(Face(face))
		if handle == nil {
			NotOwner(ctx)
			return
		}
		for _, name := range []string{headerClient, headerFace, headerNode, headerID} {
			h.Del(name) // fasthttp puts the last header in its place; as these are the last, the others stay in order
		}
		ctx.SetRemoteAddr(net.TCPAddrFromAddrPort(addr))
		httpapi.SetRequestID(ctx, id)
		ctx.SetUserValue(fromNode{}, node)
		handle(ctx)
	}
}

// fromNode is under which a request has the node that has forwarded it.
type fromNode struct{}

// From returns the name of the node that has forwarded a request; empty: none has.
func From(ctx *fasthttp.RequestCtx) string {
	name, _ := ctx.UserValue(fromNode{}).(string)
	return name
}

// NotOwner sends a request back with which nothing was done.
func NotOwner(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(headerNotOwner, "1")
	ctx.SetStatusCode(fasthttp.StatusMisdirectedRequest)
}

// one returns the value of a header that is there once, and else "".
func one(h *fasthttp.RequestHeader, name string) string {
	if all := h.PeekAll(name); len(all) == 1 {
		return string(all[0])
	}
	return ""
}

func known(f Face) bool {
	return f == Merchant || f == Operator || f == Checked || f == Local || f == Scheme
}
