package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"pixd/actors/strictjson"
)

// said is what another node says of itself, or why it has not.
type said struct {
	peer
	said hello
	err  error
}

// askFor is how long another node may take to say what it is.
const askFor = 2 * time.Second

// askOthers asks all other nodes that this one's list has at once what they are.
func (s *Served) askOthers(ctx context.Context) []said { return s.askEach(ctx, s.peers) }

// askEach asks nodes at once what they are, without this one.
func (s *Served) askEach(ctx context.Context, nodes []peer) []said {
	client := http.Client{Timeout: askFor, Transport: &http.Transport{TLSClientConfig: s.clientTLS, DisableKeepAlives: true}}
	var all []said
	for _, p := range nodes {
		if p.name != s.flags.Node {
			all = append(all, said{peer: p})
		}
	}
	var work sync.WaitGroup
	for i := range all {
		work.Go(func() { all[i].said, all[i].err = ask(ctx, &client, all[i].url) })
	}
	work.Wait()
	return all
}

func ask(ctx context.Context, client *http.Client, url string) (is hello, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+helloPath, nil)
	if err != nil {
		return is, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return is, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return is, err
	}
	return is, strictjson.Decode(body, strictjson.Rules{Deepest: 3}, &is, true)
}

// differs returns an error where a node has another name than this one's list says, or is as new as this
// one and has another list.
func (s *Served) differs(all []said) error {
	own := peersText(s.peers)
	for _, a := range all {
		if a.err == nil && (a.said.Node != a.name || a.said.Log == logNone && a.said.Peers != own) {
			return fmt.Errorf("--cluster-peers differs: node %s at %s has %s, and this one has %s", a.said.Node, a.url, a.said.Peers, own)
		}
	}
	return nil
}

// stranger returns an error where another node's folder is of another cluster than this one's. Their members of etcd would
// not see it: those of two clusters at the same addresses have the same names, and take each other's batches for their own. Of
// two that begin at once at least one asks when the other already answers.
func (s *Served) stranger(all []said) error {
	for _, a := range all {
		if id := a.said.Cluster; a.err == nil && s.ofCluster != "" && id != "" && id != s.ofCluster {
			return fmt.Errorf("this folder is of cluster %s, and that of node %s at %s is of cluster %s: end whichever is not to be here", s.ofCluster, a.name, a.url, id)
		}
	}
	return nil
}

// refusedBy returns the others that refuse this node's certificate, or show one that it refuses, where they are
// so many that it can be none of a majority.
func (s *Served) refusedBy(all []said) []string {
	var why []string
	for _, a := range all {
		if byCertificate(a.err) {
			why = append(why, fmt.Sprintf("%s (%v)", a.name, a.err))
		}
	}
	if count := len(s.peers); len(why) < count-count/2 {
		return nil
	}
	return why
}

// byCertificate reports whether a connection failed because one side did not take the other's certificate.
func byCertificate(err error) bool {
	var here *tls.CertificateVerificationError
	var there *net.OpError
	return errors.As(err, &here) || errors.As(err, &there) && there.Op == "remote error" // an alert, which TLS has as no type
}

// checkTrust waits until the certificates of this node and of the others fit. That they do not may be the others'
// mistake, which they can mend: this node's own it has found before.
func (s *Served) checkTrust(ctx context.Context) error {
	if s.clientTLS == nil {
		return nil
	}
	for said := (time.Time{}); ; {
		why := s.refusedBy(s.askOthers(ctx))
		if len(why) == 0 {
			return ctx.Err() // where it has ended, they were not asked
		}
		if time.Since(said) >= tellEvery {
			said = time.Now()
			s.config.Log.Error("cluster: this node and others do not take each other's certificates, theirs or --cluster-cert and --cluster-ca are wrong; asking them again", "nodes", strings.Join(why, ", "))
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// meet asks the other nodes whether they have the same list of nodes, before a cluster is founded in an
// etcd that knows nothing of the nodes. It returns those that have not said so yet.
func (s *Served) meet(ctx context.Context) (missing []string, err error) {
	if s.member != nil {
		return nil, nil // they were asked before the member began
	}
	all := s.askOthers(ctx)
	if err := s.differs(all); err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", a.name, a.err))
		}
	}
	return missing, nil
}
