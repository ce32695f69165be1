package admin

import (
	"log/slog"
	"slices"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/httpapi/control"
	"pixd/httpapi/reference"
)

// Cluster is the nodes that share the journal.
type Cluster interface {
	// Status returns what this node knows of all nodes.
	Status() ClusterStatus
	// Handover begins to hand the log over from this node, which is the owner, to the node to, or to any
	// if that is empty. The status says when the new owner serves. An error is a *control.Problem.
	Handover(to string) (ClusterStatus, error)
	// Leave removes a node that is gone for good. An error is a *control.Problem.
	Leave(node string) (ClusterStatus, error)
	// Join lets a node that is not one of the cluster's yet become one. url is where the others reach
	// it. An error is a *control.Problem.
	Join(node, url string) (ClusterStatus, error)
}

// ClusterStatus is the answer of GET /admin/cluster.
type ClusterStatus struct {
	ID    string       `json:"cluster_id"`
	Node  string       `json:"node"`  // the node that answers
	Owner *string      `json:"owner"` // null: there is none now
	Log   ClusterLog   `json:"log"`
	Nodes []NodeStatus `json:"nodes"` // by name
}

// ClusterLog is the log that the nodes share.
type ClusterLog struct {
	Position  uint64 `json:"position"` // of the newest batch that this node has
	Bytes     int64  `json:"bytes"`    // of the log's database
	MostBytes int64  `json:"most_bytes"`
}

// NodeStatus is a node, as the node that answers knows it.
type NodeStatus struct {
	Node       string  `json:"node"`
	Role       string  `json:"role"` // owner, standby, joining or gone
	Applied    uint64  `json:"applied"`
	LagBatches uint64  `json:"lag_batches"`
	LagSeconds float64 `json:"lag_seconds"`
	ValidForMS int64   `json:"valid_for_ms"` // how long the node is certain that no other has taken over, if it does not renew itself
	Version    string  `json:"version"`
	URL        string  `json:"url"`
	Err        *string `json:"error"` // why the node follows no more
}

// clusterRoutes adds the paths about the nodes.
func clusterRoutes(r *router.Router, c Cluster, log *slog.Logger) {
	r.GET("/admin/cluster", control.Handle(log, func(*fasthttp.RequestCtx) (int, any, error) {
		return fasthttp.StatusOK, c.Status(), nil
	}))
	r.POST("/admin/cluster/handover", control.Handle(log, admins(func(ctx *fasthttp.RequestCtx) (int, any, error) {
		var to string
		if body := ctx.PostBody(); len(body) > 0 {
			f := control.Read(body, "to")
			if f.Text("to", &to) && to == "" {
				f.Refuse("to", "the name of a node")
			}
			if err := f.Fault(); err != nil {
				return 0, nil, err
			}
		}
		s, err := c.Handover(to)
		return fasthttp.StatusAccepted, s, err
	})))
	r.POST("/admin/cluster/nodes", control.Handle(log, admins(func(ctx *fasthttp.RequestCtx) (int, any, error) {
		var node, url string
		f := control.Read(ctx.PostBody(), "node", "url")
		f.Need("node", "url")
		f.Text("node", &node)
		f.Text("url", &url)
		if err := f.Fault(); err != nil {
			return 0, nil, err
		}
		s, err := c.Join(node, url)
		return fasthttp.StatusCreated, s, err
	})))
	r.DELETE("/admin/cluster/nodes/{node}", control.Handle(log, admins(func(ctx *fasthttp.RequestCtx) (int, any, error) {
		name, err := readPath(ctx, "node", "no node %q")
		if err != nil {
			return 0, nil, err
		}
		s, err := c.Leave(name)
		return fasthttp.StatusOK, s, err
	})))
}

// Standby are the parts of the operator API of a node that is not the owner.
type Standby struct {
	Cluster         Cluster
	Ready           func() bool // reports whether the node forwards
	Metrics         fasthttp.RequestHandler
	GuardMetrics    bool // /metrics needs the operators' token too
	Version, Commit string
	Tokens          control.Tokens
	Log             *slog.Logger
	Next            fasthttp.RequestHandler // answers all other paths: the owner's, by forwarding
}

// NewStandby returns the handler of the operator API of a node that is not the owner: the probes, the
// metrics and what is about the nodes are its own.
func NewStandby(o Standby) fasthttp.RequestHandler {
	r := router.New()
	control.Strict(r)
	control.Probes(r, control.Build{Version: o.Version, Commit: o.Commit}, o.Ready)
	reference.Routes(r, reference.OfOperators...)
	r.GET("/metrics", o.Metrics)
	clusterRoutes(r, o.Cluster, o.Log)
	guarded := guardedPaths
	if o.GuardMetrics {
		guarded = append(slices.Clone(guarded), "/metrics")
	}
	own := control.Contain(o.Log, control.Guard(o.Tokens, r.Handler, guarded...))
	guardedNext := control.Guard(o.Tokens, o.Next, guardedPaths...)
	return func(ctx *fasthttp.RequestCtx) {
		if isOwn(string(ctx.URI().PathOriginal())) {
			own(ctx)
			return
		}
		guardedNext(ctx)
	}
}

// Guarded reports whether a path needs the operators' token.
func Guarded(path string) bool { return control.Below(path, guardedPaths) }

// isOwn reports whether a node answers a path of the operator API by itself, whoever the owner is.
func isOwn(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/version", "/metrics", "/admin/cluster":
		return true
	}
	return control.Below(path, []string{"/docs"})
}

// NewSnapshots returns a handler of the paths about snapshots alone, for operators whose token was
// checked.
func NewSnapshots(of Snapshots, log *slog.Logger) fasthttp.RequestHandler {
	s := &service{Options: Options{Snapshots: of, Log: log}}
	r := router.New()
	control.Strict(r)
	s.snapshotRoutes(r)
	return control.Contain(log, r.Handler)
}

// snapshotRoutes adds the paths about snapshots.
func (s *service) snapshotRoutes(r *router.Router) {
	r.POST(SnapshotsPath, control.Handle(s.Log, s.createSnapshot))
	r.GET(SnapshotsPath, control.Handle(s.Log, s.listSnapshots))
	r.POST(verifyPath, control.Handle(s.Log, s.verifySnapshot))
}

// SnapshotsPath is the path about snapshots, and begins the others about them.
const SnapshotsPath = "/admin/snapshots"

const verifyPath = SnapshotsPath + "/{file}/verify"

// AboutSnapshots reports whether the node that makes snapshots answers a path of the operator API.
func AboutSnapshots(path string) bool { return control.Below(path, []string{SnapshotsPath}) }
