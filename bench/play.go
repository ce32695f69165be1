package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/engine"
	"pixd/cmd/operator"
	"pixd/cmd/overload"
	"pixd/cmd/simulator"
	"pixd/wal"
)

// The roles of Play.
const (
	roleEngine  = "engine"    // an engine
	roleSim     = "simulator" // the scheme's simulator
	roleEcho    = "echo"      // a bare fasthttp server that answers with the request's body
	roleChecks  = "checks"    // the same behind the merchant API's checks 1 to 6
	roleJournal = "journal"   // a server that journals as much as a cash-out does, and nothing else
)

// Playing reports whether this process was started by StartProcess.
func Playing() bool { return os.Getenv(roleVariable) != "" }

// Play is a server in the role that StartProcess has asked for, until standard input ends, as it
// does when the other process ends. It returns how the server ended.
func Play(args []string, b engine.Build) error {
	role := os.Getenv(roleVariable)
	var o playFlags
	flags := flag.NewFlagSet(role, flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "folder for what the role stores")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on")
	flags.StringVar(&o.scheme, "scheme", "", "URL of the scheme, or of the simulator's engine")
	flags.BoolVar(&o.neighbours, "neighbours", false, "call webhooks on this machine, and log no warnings: the scheme is down for a while")
	flags.DurationVar(&o.sync, "sync-delay", 0, "what each sync takes longer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch role {
	case roleEngine:
		return o.engine(b)
	case roleSim:
		return o.simulator(b)
	case roleChecks:
		return o.checks(b)
	case roleJournal:
		return o.journal()
	case roleEcho:
		return serveUntilOrphaned(func(ctx *fasthttp.RequestCtx) { ctx.SetBody(ctx.PostBody()) })
	}
	return fmt.Errorf("no role %q", role)
}

// playFlags say how a server is started.
type playFlags struct {
	dir, listen, scheme string
	sync                time.Duration
	neighbours          bool
}

// The variables with the operators' token, and with the secret that an engine and a simulator
// share.
const (
	tokenVariable = operator.TokenVariable
	schemeSecret  = "PIXD_SCHEME_SECRET"
)

// orphaned returns when standard input ends.
func orphaned() { _, _ = io.Copy(io.Discard, os.Stdin) }

// listenLocal takes a free port.
func listenLocal() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// serveUntilOrphaned serves a handler on a port of its own.
func serveUntilOrphaned(h fasthttp.RequestHandler) error {
	l, err := listenLocal()
	if err != nil {
		return err
	}
	fmt.Println(l.Addr(), "-")
	failed := make(chan error, 1)
	s := &fasthttp.Server{Handler: h}
	go func() { failed <- s.Serve(l) }()
	go func() { orphaned(); failed <- nil }()
	return <-failed
}

// config returns the settings of an engine. Its folder, its ports and its token are its own.
func (o *playFlags) config() engine.Config {
	c := engine.Defaults()
	c.DataDir, c.Listen, c.AdminListen = o.dir, "127.0.0.1:0", "127.0.0.1:0"
	c.Log, c.OnFailure = quiet(), failStop
	c.AdminToken = os.Getenv(tokenVariable)
	if o.neighbours {
		c.WebhookInsecure, c.Log = true, logFrom(slog.LevelError)
	}
	if o.scheme != "" {
		c.Scheme, c.SchemeSecret = o.scheme, os.Getenv(schemeSecret)
	}
	if o.sync > 0 {
		c.FS = o.slowSync()
	}
	return c
}

// engine runs an engine as `pixd serve` does.
func (o *playFlags) engine(b engine.Build) error {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go overload.Tune(ctx)
	s, err := engine.Serve(o.config(), b)
	if err != nil {
		return err
	}
	fmt.Println(s.MerchantAddr, s.AdminAddr)
	return attend(s)
}

// slowSync is the file system of a disk whose syncs take longer.
func (o *playFlags) slowSync() wal.FS { return wal.BeforeSync(func() { time.Sleep(o.sync) }) }

// simulator runs the scheme's simulator as `pixd sim` does, for an engine whose operator API is at
// scheme.
func (o *playFlags) simulator(b engine.Build) error {
	c := simulator.Defaults()
	c.DataDir, c.Listen, c.Engine = o.dir, o.listen, o.scheme
	c.SchemeSecret, c.AdminToken = os.Getenv(schemeSecret), os.Getenv(tokenVariable)
	c.Log, c.OnFailure = quiet(), failStop
	if o.sync > 0 {
		c.FS = o.slowSync()
	}
	s, err := simulator.Serve(c, b)
	if err != nil {
		return err
	}
	fmt.Println(s.Addr, s.Addr)
	return attend(s)
}

// served is what Play's servers have in common.
type served interface {
	Failed() <-chan error
	Shutdown() error
}

func attend(s served) error {
	over := make(chan struct{})
	go func() { orphaned(); close(over) }()
	select {
	case <-over:
		return s.Shutdown()
	case err := <-s.Failed():
		return errors.Join(err, s.Shutdown())
	}
}

// quiet is a log of warnings and errors alone.
func quiet() *slog.Logger { return logFrom(slog.LevelWarn) }

func logFrom(l slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l}))
}

// failStop ends a process whose journal cannot be written.
func failStop(err error) {
	fmt.Fprintln(os.Stderr, "the engine stopped:", err)
	os.Exit(3)
}

// newToken returns a random token or secret.
func newToken() string { return rand.Text() + rand.Text() }
