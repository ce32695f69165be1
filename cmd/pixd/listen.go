package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// listenFlags are the flags of listen, as given.
type listenFlags struct {
	listen     string
	anyAddress bool
	secrets    []string
	status     int
	json       bool
}

// listenSecret is the environment variable for --secret, beside PIXD_SECRET.
const listenSecret = "PIXD_LISTEN_SECRET"

func listenCommand() *cobra.Command {
	var f listenFlags
	c := &cobra.Command{
		Use:   "listen [--secret whsec_…]",
		Short: "Receive webhooks and print them, for development",
		Long: "Receives webhooks until Ctrl-C and prints each: when it came, its type, its sequence among the events\n" +
			"of its account, its id, whether its signature is right, and its body. Subscribe to the URL that it\n" +
			"prints at the start, with POST /webhooks of the merchant API; the engine sends to it with --demo or\n" +
			"--webhook-allow-insecure. It keeps nothing and answers every POST with --status: any but 2xx shows how\n" +
			"the engine tries again. Several subscriptions may share it: --secret is repeatable, or several with\n" +
			"commas, and also taken from " + listenSecret + "; a webhook is verified if one of them fits.",
		Example: "  pixd listen --secret whsec_YW4gZXhhbXBsZSBhbmQgbm8gc2VjcmV0",
		Args:    exactly(0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", listenAddress, "`ADDRESS` and port where webhooks arrive; beyond loopback only with --any-address")
	flags.BoolVar(&f.anyAddress, "any-address", false, "let --listen be an address that others can reach")
	flags.StringArrayVar(&f.secrets, "secret", nil, "a subscription's `SECRET`, with which its webhooks are verified (whsec_…)")
	flags.IntVar(&f.status, "status", http.StatusOK, "answer each webhook with this HTTP `STATUS`, 200 to 599")
	flags.BoolVar(&f.json, "json", false, "print one line of JSON for each webhook, for scripts")
	return c
}

// receiver checks the flags and returns the receiver that they describe.
func (f *listenFlags) receiver(out io.Writer) (*receiver, error) {
	r := &receiver{out: out, json: f.json, status: f.status}
	if f.status < 200 || f.status > 599 {
		return nil, fmt.Errorf("--status %d: an HTTP status from 200 to 599", f.status)
	}
	if !f.anyAddress && !loopback(f.listen) {
		return nil, fmt.Errorf("--listen %s: without --any-address only loopback addresses, such as 127.0.0.1:9099", f.listen)
	}
	secrets := f.secrets
	if len(secrets) == 0 {
		secrets = []string{os.Getenv(listenSecret)}
	}
	for i, secret := range several(secrets) {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil || strings.TrimPrefix(secret, "whsec_") == "" {
			return nil, fmt.Errorf("--secret: number %d is no webhook secret, which is whsec_ and base64", i+1) // without the secret itself
		}
		r.secrets = append(r.secrets, w)
	}
	return r, nil
}

// run receives webhooks until a signal ends it. What it says about itself goes to standard
// error, so that standard output has the webhooks alone.
func (f *listenFlags) run(c *cobra.Command) error {
	r, err := f.receiver(c.OutOrStdout())
	if err != nil {
		return err
	}
	ctx, done := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer done()
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", f.listen, err)
	}
	fmt.Fprintf(c.ErrOrStderr(), "subscribe to http://%s/ — Ctrl-C ends\n", l.Addr())
	if err := serveUntil(ctx, l, r); err != nil {
		return err
	}
	fmt.Fprintln(c.ErrOrStderr(), r.count())
	return nil
}

// serveUntil serves until the context ends; requests in hand then have a second.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler) error {
	const patience = 10 * time.Second
	s := &http.Server{
		Handler: h, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.Shutdown(late); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// listenAddress is the address at which `pixd listen` receives webhooks.
const listenAddress = "127.0.0.1:9099"
