package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"pixd/cmd/cluster"
	"pixd/cmd/engine"
	"pixd/cmd/overload"
)

// run serves until a signal ends the process or a listener fails.
func (f *serveFlags) run(c *cobra.Command) error {
	defer f.out.flush(lastLines)
	signals := notified()
	f.OnFailure, f.PackCommand = failStop, packWords
	// net/http writes what a webhook's receiver sends unasked to the standard logger.
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(f.Log.Handler(), slog.LevelDebug).Writer())
	v, commit := build()
	go overload.Tune(c.Context())
	ctx, over := signals.during(c.Context())
	defer over()
	f.Starting = ctx
	if f.cluster.Node != "" {
		return f.runNode(ctx, over, signals)
	}
	s, err := engine.Serve(f.Config, engine.Build{Version: v, Commit: commit})
	if err != nil {
		return signals.ended(err, f.Log)
	}
	f.Log.Info("ready", "merchant", s.MerchantAddr.String(), "operator", s.AdminAddr.String(), "scheme", f.Scheme, "data", f.DataDir, "version", v)
	if s.SchemeAddr != nil {
		f.Log.Info("the scheme's notices are taken", "listen", s.SchemeAddr.String())
	}
	f.warn()
	if f.demo {
		if err := demo(ctx, c.OutOrStdout(), s, f.DataDir); err != nil && ctx.Err() == nil {
			return errors.Join(fmt.Errorf("demo: %w", err), s.Shutdown())
		}
	}
	over()
	announce(daemon.SdNotifyReady, f.Log)
	return signals.attend(s, f.Log)
}

// runNode serves as one of several nodes.
func (f *serveFlags) runNode(ctx context.Context, over func(), signals signals) error {
	v, commit := build()
	f.warn()
	s, err := cluster.Serve(ctx, f.Config, f.cluster, engine.Build{Version: v, Commit: commit})
	if err != nil {
		return signals.ended(err, f.Log)
	}
	f.Log.Info("ready", "node", f.cluster.Node, "merchant", s.MerchantAddr.String(), "operator", s.AdminAddr.String(), "cluster", s.ClusterAddr.String(),
		"scheme", f.Scheme, "data", f.DataDir, "version", v)
	over()
	announce(daemon.SdNotifyReady, f.Log)
	return signals.attend(s, f.Log)
}

// warn logs a warning for each setting that is meant only for tests or for use behind a
// proxy.
func (f *serveFlags) warn() {
	if !loopback(f.Listen) && f.TLS.Cert == "" && len(f.TrustedProxies) == 0 {
		f.Log.Warn("merchants' requests arrive without TLS: give --tls-cert and --tls-key, or listen behind a --trusted-proxy that adds it", "listen", f.Listen)
	}
	if f.WebhookInsecure {
		f.Log.Warn("--webhook-allow-insecure: webhooks may use http:// and private addresses; for development only")
	}
	if f.RateLimit == 0 {
		f.Log.Warn("--rate-limit 0: merchants' requests are not limited; for load tests only")
	}
}

// failStop ends the process as soon as the journal cannot be written. Every connection is cut
// without an answer, so that no client takes a status for an outcome.
func failStop(err error) {
	lastWords("pixd: stopped, nothing more is answered: "+strings.ReplaceAll(err.Error(), "\n", "; "), 0)
	os.Exit(3)
}
