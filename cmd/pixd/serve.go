package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pixd/cmd/certificate"
	"pixd/cmd/cluster"
	"pixd/cmd/engine"
)

// serveFlags are the flags of serve, as given.
type serveFlags struct {
	engine.Config
	logFlags
	cluster cluster.Flags
	proxies []string
	demo    bool
}

func serveCommand() *cobra.Command {
	f := serveFlags{Config: engine.Defaults(), cluster: cluster.Defaults()}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the engine: merchant API, operator API, scheme",
		Long: "Runs the engine until SIGTERM or SIGINT: it stops accepting then, finishes the requests in hand " +
			"(10 s), and closes; a start that is under way ends, with status 0. A kill at any instant loses nothing that was answered. SIGHUP reads the " +
			"certificates again. Where the journal cannot be written it ends at once, with status 3; start it " +
			"again once the disk is well. The log is on standard error.\n\n" +
			"/healthz and /readyz of the operator API say whether it runs, and whether it serves; a service manager of " +
			"systemd is told when it serves. /metrics is for Prometheus, /docs describes the APIs.\n\n" +
			"Values for which there is no flag: PIXD_ADMIN_TOKEN, the operators' token, of at least 16 characters " +
			"(without it the engine makes one at the first start, in <data-dir>/admin.token); PIXD_SCHEME_SECRET, the " +
			"secret shared with the provider of --scheme, of at least 32 bytes; PIXD_SIM_TOKEN, the token of a `pixd sim` at " +
			"--scheme: /sim of the operator API, and the sandbox of its console, then reach that simulator.\n\n" +
			"An address is a host or IP address and a port. A duration is a number and a unit, such as 200ms, 15s, 5m " +
			"or 2h; a size 500MB or 1GiB.",
		Example: "  pixd serve --demo\n" +
			"  pixd serve --ispb 12345678 --scheme https://spi.example --data-dir /srv/pixd --snapshot-every 1h\n" +
			"  pixd serve --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.understand(); err != nil {
				return err
			}
			return f.run(c)
		},
	}
	f.add(c.Flags())
	c.Flags().SortFlags = false // they stand by what they are about
	return c
}

// demoCommand is serve --demo under a name of its own.
func demoCommand() *cobra.Command {
	c := serveCommand()
	c.Use, c.Short = "demo", "Run the engine with a demo account, and print a tour"
	c.Long = "Is `pixd serve --demo`: on an empty data folder it makes a funded demo account; on one that has the demo\n" +
		"account it makes a new key of it and lists the earlier ones. Then it prints curl lines, signed with the\n" +
		"key, and serves until SIGTERM or SIGINT. Its other flags are those of serve."
	c.Example = "  pixd demo --data-dir ./pixd-data"
	demo := c.Flags().Lookup("demo")
	demo.Hidden, demo.DefValue = true, "true"
	if err := demo.Value.Set("true"); err != nil {
		panic(err) // the flag takes true
	}
	return c
}

// add declares the flags, one for each setting, with the engine's defaults.
func (f *serveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.DataDir, "data-dir", f.DataDir, "`FOLDER` of everything the engine keeps; made for its owner alone")
	flags.StringVar(&f.Listen, "listen", f.Listen, "`ADDRESS` and port of the merchant API")
	flags.StringVar(&f.AdminListen, "admin-listen", f.AdminListen, "`ADDRESS` and port of the operator API, metrics and health; beyond loopback only with TLS of its own")
	flags.BoolVar(&f.Docs, "docs", false, "serve the merchant API's description at /docs of --listen too; the operator listener always has it")
	flags.StringVar(&f.TLS.Cert, "tls-cert", "", "`FILE` with a certificate chain in PEM: the merchant API speaks TLS; read again on SIGHUP")
	flags.StringVar(&f.TLS.Key, "tls-key", "", "`FILE` with the private key of --tls-cert, in PEM")
	flags.StringVar(&f.AdminTLS.Cert, "admin-tls-cert", "", "`FILE` with the same for the operator API, where /metrics asks for the token then")
	flags.StringVar(&f.AdminTLS.Key, "admin-tls-key", "", "`FILE` with the private key of --admin-tls-cert, in PEM")
	flags.StringVar(&f.ISPB, "ispb", f.ISPB, "the service's own `ISPB`, 8 digits or capital letters; fixed once data exist")
	flags.StringVar(&f.ISPBTable, "ispb-table", "", "`FILE` with the central bank's published CSV of participants, for names of banks beyond the built-in ones; read at the start")
	flags.StringArrayVar(&f.proxies, "trusted-proxy", nil, "`CIDR` whose X-Forwarded-For is believed, such as 10.0.0.0/8; repeatable, or several with commas")
	flags.StringVar(&f.Scheme, "scheme", f.Scheme, "the scheme: sim, the simulator in this process, or the `URL` of a provider, with the secret shared with it in PIXD_SCHEME_SECRET")
	flags.StringVar(&f.SchemeCA, "scheme-ca", "", "`FILE` with the CA, or the certificate itself, in PEM, that an https --scheme is trusted by (default the system's authorities); read at the start")
	flags.StringVar(&f.SchemeListen, "scheme-listen", "", "`ADDRESS` and port that take the provider's notices, apart from the operator API; beyond loopback only with TLS")
	flags.StringVar(&f.SchemeTLS.Cert, "scheme-tls-cert", "", "`FILE` with a certificate chain in PEM for --scheme-listen (default the operator API's); read again on SIGHUP")
	flags.StringVar(&f.SchemeTLS.Key, "scheme-tls-key", "", "`FILE` with the private key of --scheme-tls-cert, in PEM")
	flags.StringVar(&f.SimDir, "sim-dir", "", "`FOLDER` of the simulator's own book (default <data-dir>/sim)")
	flags.DurationVar(&f.SettleDelay, "sim-settle-delay", f.SettleDelay, "`duration` from submission to settlement in the simulator; 0 settles inside the call")
	flags.DurationVar(&f.SchemeTimeout, "scheme-timeout", f.SchemeTimeout, "`duration` of lookup and submit together, inside one request")
	flags.DurationVar(&f.OrphanAfter, "orphan-after", f.OrphanAfter, "after this `duration` without the scheme's reply, an accepted payout is asked for, and voided where the scheme has no final word; a refund is asked for, and sent again where the scheme does not know it")
	flags.DurationVar(&f.QueueRetry, "queue-retry", f.QueueRetry, "`duration` between two tries of payouts that wait for directory capacity")
	flags.DurationVar(&f.QueueTTL, "queue-ttl", f.QueueTTL, "`duration` after which a payout that waits for directory capacity has failed")
	flags.DurationVar(&f.ApprovalTTL, "approval-ttl", f.ApprovalTTL, "`duration` after which a payout that waits for an operator's approval has failed")
	flags.IntVar(&f.ApprovalBy, "approval-by", f.ApprovalBy, "the `number` of operators, 1 or 2, who must approve a payout that waits; 2: by tokens of their own, see pixd operator")
	flags.StringVar(&f.MEDSilence, "med-silence", f.MEDSilence, "what becomes of a special-return case that was not defended in time, `agree|wait`: it is closed as AGREED, or left to the analyst")
	flags.DurationVar(&f.MEDDeadline, "med-deadline", f.MEDDeadline, "`duration` from a special-return case's opening, within which the merchant may defend it")
	flags.DurationVar(&f.MEDAnalysis, "med-analysis", f.MEDAnalysis, "`duration` from a special-return case's opening; if it is undecided by then, an alert is raised")
	flags.BoolVar(&f.WebhookInsecure, "webhook-allow-insecure", false, "webhooks may use http:// and private addresses; for development only")
	flags.DurationVar(&f.WebhookTimeout, "webhook-timeout", f.WebhookTimeout, "`duration` of one attempt to deliver a webhook")
	flags.DurationSliceVar(&f.WebhookRetries, "webhook-retries", f.WebhookRetries, "the `durations` before the second and each later attempt to deliver a webhook, separated by commas; after the last, or once they all have passed since the event, the delivery is dead")
	flags.IntVar(&f.RateLimit, "rate-limit", f.RateLimit, "`requests/min` of one address, in windows of 60 s; beyond it 429; 0 turns it off, for load tests only")
	flags.IntVar(&f.FailedAuthLimit, "failed-auth-limit", f.FailedAuthLimit, "failed credentials of one address, in `failures/min`; beyond it 429; 0 turns it off")
	flags.IntVar(&f.ConnectionsPerIP, "connections-per-ip", f.ConnectionsPerIP, "the `number` of connections open at once from one address that is no trusted proxy; 0 turns it off")
	flags.Var((*size)(&f.MinFreeDisk), "min-free-disk", "with less than this `size` of disk free, merchants' new work is refused; reads and outcomes go on; 0 turns it off")
	flags.StringVar(&f.SnapshotDir, "snapshot-dir", "", "`FOLDER` of the snapshots, of no other engine (default <data-dir>/snapshots)")
	flags.DurationVar(&f.SnapshotEvery, "snapshot-every", 0, "`duration` between two snapshots that the engine makes by itself; 0: it makes none")
	flags.IntVar(&f.SnapshotFull, "snapshot-full", f.SnapshotFull, "of a `number` of snapshots of --snapshot-every in a row, the first has everything and the others are increments; 1: each has everything")
	flags.IntVar(&f.SnapshotKeep, "snapshot-keep", f.SnapshotKeep, "the `number` of snapshots that are kept, the newest ones and what they need; 0: all")
	flags.Var((*size)(&f.SnapshotMaxSize), "snapshot-max-size", "`size` of all snapshots together, beyond which the oldest ones are removed; 0: no limit")
	flags.BoolVar(&f.AcceptRestoredGap, "accept-restored-gap", false, "serve a restored folder although the scheme cannot be asked for what happened since: payments of that time are missing in it and may be repeated")
	flags.BoolVar(&f.demo, "demo", false, "make a funded demo account in an empty data folder, or a new key of the one that is there, and print a tour of signed requests")
	flags.BoolVar(&f.LeaveCluster, "leave-cluster", false, "serve alone the folder of a node of a cluster that exists no more; no other copy of the journal may ever be written again")
	addCluster(flags, &f.cluster)
	f.logFlags.add(flags)
}

// Environment variables that set values for which there is no flag.
const (
	adminToken   = "PIXD_ADMIN_TOKEN"   // the operators' token
	schemeSecret = "PIXD_SCHEME_SECRET" // the secret shared with a provider
	simToken     = "PIXD_SIM_TOKEN"     // the operators' token of a simulator at --scheme
)

// understand checks the flags before anything is written.
func (f *serveFlags) understand() (err error) {
	if f.Log, err = f.logger(); err != nil {
		return err
	}
	f.AdminToken, f.SchemeSecret, f.SimToken = os.Getenv(adminToken), os.Getenv(schemeSecret), os.Getenv(simToken)
	for _, p := range f.proxies {
		for _, one := range strings.Split(p, ",") {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(one))
			if err != nil {
				return fmt.Errorf("--trusted-proxy %q: not a CIDR such as 10.0.0.0/8 or 10.1.2.3/32", one)
			}
			if prefix.Masked() != prefix {
				return fmt.Errorf("--trusted-proxy %s: has host bits set; %s is the whole network", one, prefix.Masked())
			}
			f.TrustedProxies = append(f.TrustedProxies, prefix)
		}
	}
	if !loopback(f.AdminListen) && f.AdminTLS.Cert == "" {
		return fmt.Errorf("--admin-listen %s: without --admin-tls-cert and --admin-tls-key the operator API takes loopback addresses only", f.AdminListen)
	}
	if f.SchemeListen != "" && !loopback(f.SchemeListen) && f.AdminTLS.Cert == "" && f.SchemeTLS.Cert == "" {
		return fmt.Errorf("--scheme-listen %s: without TLS, by --scheme-tls-cert and --scheme-tls-key or the operator API's certificate, it takes loopback addresses only", f.SchemeListen)
	}
	if f.demo && (!loopback(f.Listen) || len(f.TrustedProxies) > 0) {
		return fmt.Errorf("--demo takes a loopback --listen and no --trusted-proxy")
	}
	if f.demo {
		f.WebhookInsecure = true // the tour's receiver is on this machine
	}
	if f.demo && f.Scheme != engine.Defaults().Scheme {
		return fmt.Errorf("--demo pays in the simulator in this process: leave out --scheme")
	}
	if f.demo && (f.TLS != certificate.Files{} || f.AdminTLS != certificate.Files{}) {
		return fmt.Errorf("--demo prints requests in plain HTTP: leave out --tls-cert, --tls-key, --admin-tls-cert and --admin-tls-key")
	}
	if f.cluster.Node != "" && f.LeaveCluster {
		return fmt.Errorf("--leave-cluster is for a folder that is served alone: leave out --node")
	}
	if err := f.cluster.Check(&f.Config); err != nil {
		return err
	}
	return f.Config.Check()
}

// loopback reports whether a listen address is reachable only from this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
