package httpapi

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// clientIP is the address that the request counts as coming from, unmapped:
// the peer's, unless that is a trusted proxy that names another. False where
// what it names is no address.
func (s *service) clientIP(ctx *fasthttp.RequestCtx) (netip.Addr, bool) {
	peer, ok := PeerOf(ctx)
	if !ok || !s.trusts(peer) {
		return peer, ok
	}
	headers := ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor)
	if len(headers) == 0 {
		return peer, true
	}
	client := peer
	for _, h := range slices.Backward(headers) {
		for _, part := range slices.Backward(strings.Split(string(h), ",")) {
			addr, err := netip.ParseAddr(strings.TrimSpace(part))
			if err != nil || addr.Zone() != "" {
				return addr, false
			}
			if client = addr.Unmap(); !s.trusts(client) {
				return client, true
			}
		}
	}
	return client, true
}

// PeerOf is the address at the other end of the connection, unmapped.
func PeerOf(ctx *fasthttp.RequestCtx) (netip.Addr, bool) {
	tcp, ok := ctx.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	return addr, addr.IsValid()
}

func (s *service) trusts(ip netip.Addr) bool {
	for _, p := range s.TrustedProxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
