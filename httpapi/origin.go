package httpapi

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// clientIP returns the client's address, an IPv4-mapped one as IPv4. It is the peer's
// address, unless the peer is a trusted proxy and X-Forwarded-For names another address.
// clientIP returns false if the peer's address is unknown, or if an entry of X-Forwarded-For
// that it has to read is not an address.
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

// PeerOf returns the address at the other end of the connection, an IPv4-mapped one as IPv4.
func PeerOf(ctx *fasthttp.RequestCtx) (netip.Addr, bool) {
	tcp, ok := ctx.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	return addr, addr.IsValid()
}

func (s *service) trusts(ip netip.Addr) bool { return within(s.TrustedProxies, ip) }

func within(all []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(ip) })
}
