package etcdlog

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// The defaults of a member.
const (
	DefaultQuota     = 8 << 30
	DefaultHeartbeat = 100 * time.Millisecond
	DefaultElection  = time.Second
)

// A member keeps the newest requests in memory, for others that are behind: at a thousand batches a
// second those of one second. One that is further behind gets the whole database.
const (
	requestsKept     = 1_000
	requestsSnapshot = 2_000 // requests until the files of the newest may go
)

// MemberOptions say how a member of an etcd runs.
type MemberOptions struct {
	Name       string            // unique among the members
	Dir        string            // its folder; made where it does not exist
	Peers      map[string]string // URLs by name of all members, itself too; not used where the folder has a member's data
	PeerListen string            // host:port that the other members connect to; empty: the host of its URL
	Join       bool              // it was added to members that run; false: all members of Peers are new together

	// PEM files for the connections between members, which are mutual TLS 1.3: the member's
	// certificate, for servers and clients, its key, and the authority of all members'. All three or
	// none: without them connections are open to whoever reaches the port.
	CertFile, KeyFile, CAFile string

	Prefix    string        // what all keys begin with; empty: DefaultPrefix
	Timeout   time.Duration // how long one call of etcd may take; 0: 2 s
	Quota     int64         // most bytes of the database; 0: DefaultQuota
	Heartbeat time.Duration // how often the leader says that it lives, whole ms; 0: DefaultHeartbeat
	Election  time.Duration // how long members wait for it until they elect another, at least five heartbeats; 0: DefaultElection
	Log       *slog.Logger  // nil: messages are discarded
}

// fill puts the defaults in place of what is not said.
func (o *MemberOptions) fill() {
	o.Log = discardNil(o.Log)
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Quota <= 0 {
		o.Quota = DefaultQuota
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Election <= 0 {
		o.Election = DefaultElection
	}
}

// others returns the other members, as they are logged.
func (o *MemberOptions) others() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Peers)) {
		if name != o.Name {
			all = append(all, name+"="+o.Peers[name])
		}
	}
	return strings.Join(all, ", ")
}

// config returns etcd's settings. back is told where the folder was put back.
func (o *MemberOptions) config(back *putBack) (*embed.Config, error) {
	c := embed.NewConfig()
	c.Name, c.Dir = o.Name, o.Dir
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapTo(o.Log).WithOptions(zap.WithPanicHook(back)))
	if err := o.addresses(c); err != nil {
		return nil, fmt.Errorf("etcdlog: member %s: %w", o.Name, err)
	}
	if o.Join {
		c.ClusterState = embed.ClusterStateFlagExisting
	}
	c.QuotaBackendBytes, c.MaxRequestBytes = o.Quota, largestRequest
	c.TickMs, c.ElectionMs = uint(o.Heartbeat.Milliseconds()), uint(o.Election.Milliseconds())
	c.PreVote = true
	c.SnapshotCatchUpEntries, c.SnapshotCount = requestsKept, requestsSnapshot
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModeRevision, "0" // Trim compacts
	c.EnableGRPCGateway = false
	return c, nil
}

// addresses sets where the member listens: for other members, and for nobody else.
func (o *MemberOptions) addresses(c *embed.Config) error {
	own, err := url.Parse(o.Peers[o.Name])
	if err != nil || own.Host == "" {
		return fmt.Errorf("the URL %q of its own is not one", o.Peers[o.Name])
	}
	named := 0
	for _, file := range []string{o.CertFile, o.KeyFile, o.CAFile} {
		if file != "" {
			named++
		}
	}
	if secure := own.Scheme == "https"; secure != (named == 3) || named%3 != 0 {
		return errors.New("https needs a certificate, a key and an authority, and http none of them")
	}
	listen := *own
	if o.PeerListen != "" {
		listen.Host = o.PeerListen
	}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{listen}, []url.URL{*own}
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ListenClientHttpUrls, c.ListenMetricsUrls = nil, nil, nil, nil
	var cluster []string
	for _, name := range slices.Sorted(maps.Keys(o.Peers)) {
		cluster = append(cluster, name+"="+o.Peers[name])
	}
	c.InitialCluster, c.InitialClusterToken = strings.Join(cluster, ","), "pixd"
	if named == 3 {
		c.PeerTLSInfo = transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile, ClientCertAuth: true}
		c.TlsMinVersion = "TLS1.3"
	}
	return nil
}
