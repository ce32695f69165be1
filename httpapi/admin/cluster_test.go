package admin_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/wal"
)

// operatorsOf opens the operators of an empty journal.
func operatorsOf(t *testing.T) *registry.Operators {
	t.Helper()
	store, err := wal.Open(wal.Options{Dir: "data", FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	all, err := registry.OpenOperators(store, func() pix.Millis { return 1 }, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// nodes is an admin.Cluster that notes what it was asked.
type nodes struct{ asked []string }

func (n *nodes) Status() admin.ClusterStatus {
	owner := "b"
	return admin.ClusterStatus{ID: "c1", Node: "a", Owner: &owner, Nodes: []admin.NodeStatus{{Node: "b", Role: "owner"}}}
}

func (n *nodes) note(what string) (admin.ClusterStatus, error) {
	n.asked = append(n.asked, what)
	if strings.HasSuffix(what, "nobody") {
		return admin.ClusterStatus{}, control.Missing("no node %q", "nobody")
	}
	return n.Status(), nil
}

func (n *nodes) Handover(to string) (admin.ClusterStatus, error) { return n.note("handover to " + to) }

func (n *nodes) Leave(node string) (admin.ClusterStatus, error) { return n.note("leave " + node) }

func (n *nodes) Join(node, url string) (admin.ClusterStatus, error) {
	return n.note("join " + node + " " + url)
}

const nodesToken = "0123456789abcdef"

// answered asks a handler.
func answered(h fasthttp.RequestHandler, method, path, token, body string) (int, string) {
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(path)
	ctx.Request.SetBodyString(body)
	if token != "" {
		ctx.Request.Header.Set("Authorization", "Bearer "+token)
	}
	h(&ctx)
	return ctx.Response.StatusCode(), string(ctx.Response.Body())
}

// TestStandby checks which paths a node that is not the owner answers by itself, and that what needs the
// operators' token is not forwarded without it.
func TestStandby(t *testing.T) {
	ready := true
	h := admin.NewStandby(admin.Standby{
		Cluster: &nodes{}, Ready: func() bool { return ready }, Metrics: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("metrics") },
		Version: "1", Commit: "2", Tokens: control.Tokens{Root: nodesToken, Now: func() pix.Millis { return 0 }}, Log: slog.New(slog.DiscardHandler),
		Next: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("forwarded") },
	})
	for _, c := range []struct {
		method, path, token string
		status              int
		want                string
	}{
		{"GET", "/healthz", "", 200, `"ok"`},
		{"GET", "/readyz", "", 200, `"ready"`},
		{"GET", "/version", "", 200, `"version":"1"`},
		{"GET", "/metrics", "", 200, "metrics"},
		{"GET", "/admin/cluster", "", 401, ""},
		{"GET", "/admin/cluster", nodesToken, 200, `"owner":"b"`},
		{"DELETE", "/admin/cluster", nodesToken, 405, ""},
		{"POST", "/admin/cluster/handover", "", 401, ""},
		{"POST", "/admin/cluster/handover", nodesToken, 200, "forwarded"},
		{"GET", "/admin/accounts", "", 401, ""},
		{"GET", "/admin/accounts", nodesToken, 200, "forwarded"},
		{"GET", "/sim/book", "", 401, ""},
		{"POST", "/v1/notices", "", 200, "forwarded"},
		{"GET", "/healthz/x", "", 200, "forwarded"},
	} {
		status, body := answered(h, c.method, c.path, c.token, "")
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
	ready = false
	if status, _ := answered(h, "GET", "/readyz", "", ""); status != 503 {
		t.Errorf("/readyz of a node that neither serves nor forwards: %d", status)
	}
}

// TestClusterPaths checks what the owner is asked about the nodes, and what is refused.
func TestClusterPaths(t *testing.T) {
	n := &nodes{}
	h := admin.New(admin.Options{Cluster: n, Token: nodesToken, Operators: operatorsOf(t), Now: func() pix.Millis { return 0 }, Log: slog.New(slog.DiscardHandler)})
	for _, c := range []struct {
		method, path, body string
		status             int
		asked, want        string
	}{
		{"GET", "/admin/cluster", "", 200, "", `"nodes":[{"node":"b"`},
		{"POST", "/admin/cluster/handover", "", 202, "handover to ", `"owner":"b"`},
		{"POST", "/admin/cluster/handover", `{"to":"c"}`, 202, "handover to c", ""},
		{"POST", "/admin/cluster/handover", `{"to":"nobody"}`, 404, "handover to nobody", "nobody"},
		{"POST", "/admin/cluster/handover", `{"to":""}`, 400, "", "to must be"},
		{"POST", "/admin/cluster/handover", `{"to":1}`, 400, "", "to must be"},
		{"POST", "/admin/cluster/handover", `{"too":"c"}`, 400, "", "too"},
		{"POST", "/admin/cluster/nodes", `{"node":"d","url":"http://d:1"}`, 201, "join d http://d:1", ""},
		{"POST", "/admin/cluster/nodes", `{"node":"d"}`, 400, "", "url"},
		{"POST", "/admin/cluster/nodes", ``, 400, "", ""},
		{"DELETE", "/admin/cluster/nodes/c", "", 200, "leave c", ""},
		{"DELETE", "/admin/cluster/nodes/nobody", "", 404, "leave nobody", ""},
		{"DELETE", "/admin/cluster/nodes/10.0.0.4:8090", "", 200, "leave 10.0.0.4:8090", ""},
		{"DELETE", "/admin/cluster/nodes/%5B::1%5D:8090", "", 200, "leave [::1]:8090", ""},
		{"DELETE", "/admin/cluster/nodes/%zz", "", 404, "", "no node"},
	} {
		n.asked = nil
		status, body := answered(h, c.method, c.path, nodesToken, c.body)
		if asked := strings.Join(n.asked, ","); status != c.status || asked != c.asked || !strings.Contains(body, c.want) {
			t.Errorf("%s %s %s: %d %s, asked %q", c.method, c.path, c.body, status, body, asked)
		}
	}
	alone := admin.New(admin.Options{Token: nodesToken, Operators: operatorsOf(t), Now: func() pix.Millis { return 0 }, Log: slog.New(slog.DiscardHandler)})
	if status, _ := answered(alone, "GET", "/admin/cluster", nodesToken, ""); status != 404 {
		t.Errorf("/admin/cluster of a process that is alone: %d", status)
	}
}
