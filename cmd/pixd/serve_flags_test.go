package main

import (
	"reflect"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"pixd/cmd/cluster"
	"pixd/cmd/engine"
)

// TestServeFlags checks that each flag sets its own setting and no other, and that the
// defaults are the documented ones.
func TestServeFlags(t *testing.T) {
	parse := func(args ...string) engine.Config {
		f := serveFlags{Config: engine.Defaults()}
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.add(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		return f.Config
	}
	plain := parse()
	if want := (engine.Config{
		DataDir: "./pixd-data", Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:8081", ISPB: "99999004", Scheme: "sim",
		SettleDelay: 200 * time.Millisecond, SchemeTimeout: 10 * time.Second, OrphanAfter: 30 * time.Minute,
		QueueRetry: 3 * time.Second, QueueTTL: 2 * time.Hour, ApprovalTTL: 168 * time.Hour, ApprovalBy: 1,
		MEDSilence: "agree", MEDDeadline: 120 * time.Hour, MEDAnalysis: 168 * time.Hour,
		WebhookTimeout: 15 * time.Second, WebhookRetries: []time.Duration{
			5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
		},
		RateLimit: 90_000, FailedAuthLimit: 6_000, ConnectionsPerIP: 4_096, MinFreeDisk: 1 << 30, SnapshotFull: 1, SnapshotKeep: 24,
	}); !reflect.DeepEqual(plain, want) {
		t.Errorf("the defaults are %+v", plain)
	}
	sets := map[string]struct {
		value string
		set   func(*engine.Config)
	}{
		"data-dir":           {"d", func(c *engine.Config) { c.DataDir = "d" }},
		"listen":             {"l", func(c *engine.Config) { c.Listen = "l" }},
		"admin-listen":       {"a", func(c *engine.Config) { c.AdminListen = "a" }},
		"approval-by":        {"2", func(c *engine.Config) { c.ApprovalBy = 2 }},
		"tls-cert":           {"c", func(c *engine.Config) { c.TLS.Cert = "c" }},
		"tls-key":            {"k", func(c *engine.Config) { c.TLS.Key = "k" }},
		"admin-tls-cert":     {"c", func(c *engine.Config) { c.AdminTLS.Cert = "c" }},
		"admin-tls-key":      {"k", func(c *engine.Config) { c.AdminTLS.Key = "k" }},
		"ispb":               {"12345678", func(c *engine.Config) { c.ISPB = "12345678" }},
		"scheme":             {"http://x", func(c *engine.Config) { c.Scheme = "http://x" }},
		"ispb-table":         {"banks.csv", func(c *engine.Config) { c.ISPBTable = "banks.csv" }},
		"scheme-ca":          {"ca", func(c *engine.Config) { c.SchemeCA = "ca" }},
		"scheme-listen":      {"s", func(c *engine.Config) { c.SchemeListen = "s" }},
		"scheme-tls-cert":    {"c", func(c *engine.Config) { c.SchemeTLS.Cert = "c" }},
		"scheme-tls-key":     {"k", func(c *engine.Config) { c.SchemeTLS.Key = "k" }},
		"sim-dir":            {"s", func(c *engine.Config) { c.SimDir = "s" }},
		"sim-settle-delay":   {"1s", func(c *engine.Config) { c.SettleDelay = time.Second }},
		"scheme-timeout":     {"2s", func(c *engine.Config) { c.SchemeTimeout = 2 * time.Second }},
		"orphan-after":       {"3m", func(c *engine.Config) { c.OrphanAfter = 3 * time.Minute }},
		"queue-retry":        {"4s", func(c *engine.Config) { c.QueueRetry = 4 * time.Second }},
		"queue-ttl":          {"5m", func(c *engine.Config) { c.QueueTTL = 5 * time.Minute }},
		"approval-ttl":       {"6h", func(c *engine.Config) { c.ApprovalTTL = 6 * time.Hour }},
		"med-silence":        {"wait", func(c *engine.Config) { c.MEDSilence = "wait" }},
		"med-deadline":       {"7h", func(c *engine.Config) { c.MEDDeadline = 7 * time.Hour }},
		"med-analysis":       {"8h", func(c *engine.Config) { c.MEDAnalysis = 8 * time.Hour }},
		"webhook-timeout":    {"9s", func(c *engine.Config) { c.WebhookTimeout = 9 * time.Second }},
		"webhook-retries":    {"1s,2m", func(c *engine.Config) { c.WebhookRetries = []time.Duration{time.Second, 2 * time.Minute} }},
		"rate-limit":         {"7", func(c *engine.Config) { c.RateLimit = 7 }},
		"failed-auth-limit":  {"8", func(c *engine.Config) { c.FailedAuthLimit = 8 }},
		"connections-per-ip": {"9", func(c *engine.Config) { c.ConnectionsPerIP = 9 }},
		"min-free-disk":      {"2GiB", func(c *engine.Config) { c.MinFreeDisk = 2 << 30 }},
		"snapshot-dir":       {"s", func(c *engine.Config) { c.SnapshotDir = "s" }},
		"snapshot-every":     {"1h", func(c *engine.Config) { c.SnapshotEvery = time.Hour }},
		"snapshot-full":      {"24", func(c *engine.Config) { c.SnapshotFull = 24 }},
		"snapshot-keep":      {"3", func(c *engine.Config) { c.SnapshotKeep = 3 }},
		"snapshot-max-size":  {"4GiB", func(c *engine.Config) { c.SnapshotMaxSize = 4 << 30 }},
	}
	for name, s := range sets {
		want := engine.Defaults()
		s.set(&want)
		if got := parse("--"+name, s.value); !reflect.DeepEqual(got, want) {
			t.Errorf("--%s %s: %+v", name, s.value, got)
		}
	}
	ofNodes := map[string]func(*cluster.Flags) *string{
		"node":           func(f *cluster.Flags) *string { return &f.Node },
		"cluster-listen": func(f *cluster.Flags) *string { return &f.Listen },
		"cluster-peers":  func(f *cluster.Flags) *string { return &f.Peers },
		"cluster-cert":   func(f *cluster.Flags) *string { return &f.TLS.Cert },
		"cluster-key":    func(f *cluster.Flags) *string { return &f.TLS.Key },
		"cluster-ca":     func(f *cluster.Flags) *string { return &f.CA },
		"log":            func(f *cluster.Flags) *string { return &f.Log },
		"log-cert":       func(f *cluster.Flags) *string { return &f.LogTLS.Cert },
		"log-key":        func(f *cluster.Flags) *string { return &f.LogTLS.Key },
		"log-ca":         func(f *cluster.Flags) *string { return &f.LogCA },
		"log-prefix":     func(f *cluster.Flags) *string { return &f.LogPrefix },
		"reads":          func(f *cluster.Flags) *string { return &f.Reads },
		"snapshot-on":    func(f *cluster.Flags) *string { return &f.SnapshotOn },
	}
	for name, field := range ofNodes {
		want := cluster.Defaults()
		*field(&want) = "v"
		got := cluster.Defaults()
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		addCluster(flags, &got)
		if err := flags.Parse([]string{"--" + name, "v"}); err != nil || got != want {
			t.Errorf("--%s: %+v %v", name, got, err)
		}
		sets[name] = sets["data-dir"] // it has a row
	}
	elsewhere := map[string]bool{"trusted-proxy": true, "docs": true, "webhook-allow-insecure": true, "demo": true, "accept-restored-gap": true, "leave-cluster": true, "log-format": true, "log-level": true}
	serveCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if _, there := sets[f.Name]; !there && !elsewhere[f.Name] {
			t.Errorf("--%s is in no row", f.Name)
		}
	})
}
