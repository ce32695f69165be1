package main

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/goccy/go-json"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pixd/cmd/cluster"
	"pixd/httpapi/admin"
)

// addCluster declares the flags of a node of several.
func addCluster(flags *pflag.FlagSet, f *cluster.Flags) {
	flags.StringVar(&f.Node, "node", "", "`NAME` of this node among several that share the journal; a-z 0-9 -, at most 32; turns the flags --cluster-… and --log… on")
	flags.StringVar(&f.Listen, "cluster-listen", "", "`ADDRESS` and port for the other nodes, with mutual TLS beyond loopback; an embedded etcd takes the next port too")
	flags.StringVar(&f.Peers, "cluster-peers", "", "all nodes, this one too, at their --cluster-listen, as `NAME=URL,…`; the same on every node at its first start")
	flags.StringVar(&f.TLS.Cert, "cluster-cert", "", "`FILE` with a certificate chain in PEM that this node shows the others; for a server and a client, and for the host of its URL")
	flags.StringVar(&f.TLS.Key, "cluster-key", "", "`FILE` with the private key of --cluster-cert, in PEM")
	flags.StringVar(&f.CA, "cluster-ca", "", "`FILE` with the CA that the nodes' certificates are signed by, in PEM")
	flags.StringVar(&f.Log, "log", f.Log, "where the nodes share the journal: embedded, a member of etcd in each of them, or the `URL,…` of an etcd that pixd has for itself")
	flags.StringVar(&f.LogTLS.Cert, "log-cert", "", "`FILE` with a certificate in PEM that an etcd of its own asks for")
	flags.StringVar(&f.LogTLS.Key, "log-key", "", "`FILE` with the private key of --log-cert, in PEM")
	flags.StringVar(&f.LogCA, "log-ca", "", "`FILE` with the CA that such an etcd is trusted by, in PEM (default the system's authorities)")
	flags.StringVar(&f.Reads, "reads", f.Reads, "how this node proves that it owns the journal, for an answer that writes nothing and before it tells the scheme anything, `lease|quorum`: by its clock, or by asking a majority each time")
	flags.StringVar(&f.SnapshotOn, "snapshot-on", f.SnapshotOn, "which node makes snapshots, `standby|owner|any`: a standby while there is one, the owner, or any that is asked")
	flags.StringVar(&f.LogPrefix, "log-prefix", f.LogPrefix, "the `TEXT` that all keys in etcd begin with")
}

func clusterCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Show the nodes that share a journal, and hand it over",
		Long: "Shows the nodes that share a journal, has the owner hand it over, and adds and removes nodes. One node\n" +
			"is the owner and runs the engine; the others have the same journal, forward requests to it, and take\n" +
			"over if it is lost. docs/cluster.md says what is promised.",
		Example: "  pixd cluster status",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(clusterStatus.alone(&adminFlags{}), clusterHandover.alone(&adminFlags{}), clusterJoin.alone(&adminFlags{}), clusterLeave.alone(&adminFlags{}))
	return c
}

var clusterStatus = request{
	use:   "status",
	short: "Show the nodes and the log",
	long: "Shows each node with its role (owner, standby, joining, gone), the newest batch that it has, how far and\n" +
		"for how long it is behind, for how long it is certain that no other has taken over, and its version; and\n" +
		"the size of the log. Any node answers. Exit status 1 where there is no owner, or a node is gone, follows\n" +
		"no more or is behind by more than 10 s.",
	example: "  pixd cluster status",
	method:  http.MethodGet, path: "/admin/cluster", print: printCluster,
}

var clusterHandover = request{
	use:   "handover [--to NODE]",
	short: "Have the owner hand over, and wait for the new one",
	long: "Has the owner finish the requests in hand and hand the log over, to a node or to any that follows. It\n" +
		"returns when the new owner serves; requests wait for less than half a second. The former owner follows.",
	example: "  pixd cluster handover --to b",
	method:  http.MethodPost, path: "/admin/cluster/handover",
	fields: []field{{flag: "to", member: "to", kind: "", help: "the `NODE` that is to be the owner (default any)"}},
	print:  awaitHandover,
}

var clusterJoin = request{
	use:   "join --node NAME --peer URL",
	short: "Add a node",
	long: "Adds a node to a running cluster. Start it afterwards, with an empty data folder and in --cluster-peers\n" +
		"itself beside the others: it copies the journal from one of them, and follows.",
	example: "  pixd cluster join --node d --peer https://10.0.0.4:8090",
	method:  http.MethodPost, path: "/admin/cluster/nodes",
	fields: []field{
		{flag: "node", member: "node", kind: "", help: "the new node's `NAME`", must: true},
		{flag: "peer", member: "url", kind: "", help: "`URL` at which the others reach it", must: true},
	},
	print: printNodes,
}

var clusterLeave = request{
	use:   "leave NODE",
	short: "Remove a node for good",
	long: "Removes a node that has ended. The log no longer waits for it, and it no longer counts for the majority.\n" +
		"To come back it joins as a new node, with an empty folder. One that was added and has never started is\n" +
		"named by the HOST:PORT of its --peer.",
	example: "  pixd cluster leave c",
	of:      "a node", method: http.MethodDelete, path: "/admin/cluster/nodes/{id}", print: printNodes,
}

// printNodes prints the nodes whatever their state.
var printNodes = printing("no nodes", clusterText)

// printCluster prints the nodes, and fails where one of them needs an operator.
func printCluster(c *cobra.Command, f *adminFlags, got json.RawMessage) error {
	if err := printNodes(c, f, got); err != nil {
		return err
	}
	var s admin.ClusterStatus
	if err := json.Unmarshal(got, &s); err != nil {
		return fmt.Errorf("status of the nodes: %w", err)
	}
	return wellness(&s)
}

// behindMost is how long a node may be behind.
const behindMost = 10 * time.Second

// wellness returns an error where there is no owner, or a node does not follow.
func wellness(s *admin.ClusterStatus) error {
	var errs []error
	if s.Owner == nil {
		errs = append(errs, errors.New("no node is the owner"))
	}
	for _, n := range s.Nodes {
		switch {
		case n.Err != nil:
			errs = append(errs, fmt.Errorf("node %s follows no more: %s", n.Node, *n.Err))
		case n.Role == "gone":
			errs = append(errs, fmt.Errorf("node %s is gone", n.Node))
		case n.LagSeconds > behindMost.Seconds():
			errs = append(errs, fmt.Errorf("node %s is behind by %.0f s", n.Node, n.LagSeconds))
		}
	}
	return errors.Join(errs...)
}

func clusterText(s *admin.ClusterStatus) string {
	out := rows([]string{"node", "role", ">applied", ">lag", ">for", ">valid for", "version"}, s.Nodes, func(n *admin.NodeStatus) table.Row {
		return table.Row{
			n.Node, n.Role, strconv.FormatUint(n.Applied, 10), strconv.FormatUint(n.LagBatches, 10) + " batches",
			fmt.Sprintf("%.1f s", n.LagSeconds), (time.Duration(n.ValidForMS) * time.Millisecond).String(), n.Version,
		}
	})
	return out + fmt.Sprintf("log: batch %d, %.1f of %.0f MiB\n", s.Log.Position, mebi(s.Log.Bytes), mebi(s.Log.MostBytes))
}

func mebi(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// awaitHandover waits until another node than the former owner serves, and prints the nodes.
func awaitHandover(c *cobra.Command, f *adminFlags, got json.RawMessage) error {
	var was admin.ClusterStatus
	if err := json.Unmarshal(got, &was); err != nil {
		return fmt.Errorf("status of the nodes: %w", err)
	}
	left := false // the former owner is not it any more
	for until := time.Now().Add(handoverPatience); time.Now().Before(until); {
		var is admin.ClusterStatus
		if got, err := f.ask(c, http.MethodGet, "/admin/cluster", nil); err == nil && json.Unmarshal(got, &is) == nil {
			still := was.Owner != nil && is.Owner != nil && *is.Owner == *was.Owner && serves(&is)
			switch {
			case handedOver(&was, &is):
				if to := c.Flag("to").Value.String(); to != "" && *is.Owner != to {
					return fmt.Errorf("node %s is the owner now, and not %s, which has not taken the log in time: pixd cluster status shows where the nodes are", *is.Owner, to)
				}
				return printNodes(c, f, got)
			case left && still:
				return fmt.Errorf("node %s is the owner again: the other has not taken the log in time; is its disk or its network slow?", *is.Owner)
			}
			left = left || !still
		}
		select {
		case <-c.Context().Done():
			return c.Context().Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("no other node serves after %s: pixd cluster status shows where they are", handoverPatience)
}

// handoverPatience is how long the command waits for the new owner.
const handoverPatience = 45 * time.Second

func handedOver(was, is *admin.ClusterStatus) bool {
	return is.Owner != nil && was.Owner != nil && *is.Owner != *was.Owner && serves(is)
}

// serves reports whether the owner says itself that it is.
func serves(is *admin.ClusterStatus) bool {
	for _, n := range is.Nodes {
		if n.Node == *is.Owner {
			return n.Role == "owner"
		}
	}
	return false
}
