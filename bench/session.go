package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pixd/cmd/engine"
	"pixd/cmd/operator"
)

// Options say what Measure does.
type Options struct {
	Target      string           // URL of the merchant API; empty: an engine of its own
	TargetTrust *tls.Config      // by what an https Target is trusted; nil: the system's authorities
	Operator    *operator.Client // of the Target's operator API
	Sim         *operator.Client // of the Target's simulator; nil: the operator API has it

	Scenarios   []Scenario    // one after the other, on the same accounts
	Rate        int           // requests per second; 0: as fast as they are answered
	Duration    time.Duration // of each scenario
	WarmUp      time.Duration // of each scenario before its figures are taken
	Accounts    int
	Addresses   int           // source addresses; 0: as many as the rate limit of an address needs
	Connections int           // 0: closedConnections, or at a Rate as many as are needed, up to openConnections
	SyncDelay   time.Duration // what each sync of an engine of its own takes longer
	TempDir     string        // where the folder of an engine of its own is made; empty: the system's

	Build engine.Build   // of this program
	Show  func(Progress) // called often, by many goroutines; nil: nothing is shown

	role     string // of our own engine; empty: roleEngine
	simApart bool   // our own engine's simulator is a process of its own
	local    string // begins the recipients' e-mail addresses
	domain   string // ends them; empty: @example.com
	ways     []way  // of being greedy, that neighbours measures; nil: all
}

// The bounds and defaults of Options.
const (
	MostRate        = 1_000_000
	MostAccounts    = 1_000_000
	MostAddresses   = 65_536
	MostConnections = 1_000_000

	closedConnections = 256
	openConnections   = 1_536
	// MostGreedy is how many connections a greedy account opens at most; as many webhooks at most
	// come in while it does.
	MostGreedy = 1_024
	// ratePerAddress is how many requests a second each address is made to send at most, unless
	// their number is given: well within the 90,000 a minute that are not refused.
	ratePerAddress = 500
	maxAddresses   = 256 // used where the rate is not known beforehand
)

// Check returns an error for the first option that cannot be used.
func (o *Options) Check() error {
	switch {
	case o.Rate < 0 || o.Rate > MostRate:
		return fmt.Errorf("--rate %d: max, or 1 to %d requests per second", o.Rate, MostRate)
	case o.Duration < time.Second || o.Duration > 24*time.Hour:
		return fmt.Errorf("--duration %v: from 1s to 24h", o.Duration)
	case o.WarmUp < 0 || o.WarmUp > time.Hour:
		return fmt.Errorf("--warm-up %v: from 0s to 1h", o.WarmUp)
	case o.Accounts < 1 || o.Accounts > MostAccounts:
		return fmt.Errorf("--accounts %d: 1 to %d", o.Accounts, MostAccounts)
	case o.Addresses < 0 || o.Addresses > MostAddresses:
		return fmt.Errorf("--ips %d: 1 to %d", o.Addresses, MostAddresses)
	case o.Connections < 0 || o.Connections > MostConnections:
		return fmt.Errorf("--connections %d: 1 to %d", o.Connections, MostConnections)
	case o.SyncDelay < 0 || o.SyncDelay > time.Minute:
		return fmt.Errorf("--sync-delay %v: from 0s to 1m", o.SyncDelay)
	case o.neighbours() && (o.Rate > 0 || o.Connections > 0):
		return errors.New("--scenario neighbours has rates and connections of its own: leave --rate and --connections out")
	case o.SyncDelay > 0 && o.Target != "":
		return errors.New("--sync-delay is for an engine that pixbench starts itself, without --target")
	}
	return roomFor(o.connections())
}

func (o *Options) connections() int {
	switch {
	case o.neighbours():
		return openConnections + 2*MostGreedy
	case o.Connections > 0:
		return o.Connections
	case o.Rate > 0:
		return openConnections
	}
	return closedConnections
}

func (o *Options) addresses(t *target) int {
	switch {
	case o.Addresses > 0:
		return o.Addresses
	case !t.ip.Is4() || !t.ip.IsLoopback():
		return 1
	case o.Rate > 0:
		return 1 + (o.Rate-1)/ratePerAddress
	}
	return maxAddresses
}

// Progress is how far a session is.
type Progress struct {
	Stage    string // preparing, warming up, load, audit
	What     string // what is prepared or audited; in the other stages, the scenario
	Done, Of int    // of What
	Second   *Second
}

// session is one call of Measure.
type session struct {
	*Options
	target    *target
	process   *Process     // nil: the engine is not our own
	second    *Process     // the simulator of our own engine; nil: it is in the engine
	startSim  func() error // starts second, again where it has ended; nil: it is in the engine
	folder    string       // of our own engine
	merchants []merchant
	payments  []payment
	answers   answers
	tag       string // makes the texts of this session its own
	sampler   sampler
	reader    *http.Client // of the audit
	showing   sync.Mutex
}

func (s *session) show(p Progress) {
	if s.Show != nil {
		s.showing.Lock()
		defer s.showing.Unlock()
		s.Show(p)
	}
}

// Measure loads an engine with scenarios, audits the books, and reports. If the context ends, the
// load ends with it; the report then has what was measured until then, and its audit. cut ends
// the audit too. An error means that nothing was measured; what fails later is a difference in
// the audit.
func Measure(ctx, cut context.Context, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s := &session{Options: &o, tag: o.local + newTag()}
	r := &Report{Program: o.Build.Version, StartedAt: time.Now().UTC().Truncate(time.Millisecond), Machine: describeMachine()}
	r.Audit.Differences = []string{}
	err := s.open(ctx)
	if err == nil {
		r.Engine = s.target.Target
		err = s.load(ctx, r)
	}
	if len(r.Runs) == 0 {
		return nil, errors.Join(err, s.close())
	}
	r.Interrupted = ctx.Err() != nil
	// From here on there are figures to report, whatever fails.
	if err != nil {
		r.Audit.differ("the load was given up: %v", err)
	}
	if err := s.audit(cut, &r.Audit); err != nil {
		r.Audit.differ("the audit could not be made: %v", err)
	}
	if err := s.close(); err != nil {
		r.Audit.differ("the engine did not end as it should: %v", err)
	}
	return r, nil
}

// open finds or starts the engine, and prepares accounts in it.
func (s *session) open(ctx context.Context) error {
	if s.Target == "" {
		if err := s.startOwn(); err != nil {
			return err
		}
	}
	var err error
	if s.target, err = find(ctx, s.Options); err != nil {
		return err
	}
	s.target.Own = s.process != nil
	if s.SyncDelay > 0 {
		s.target.Sync = s.SyncDelay.String()
	}
	if err := s.target.spread(s.addresses(s.target)); err != nil {
		return err
	}
	s.reader = s.target.newReader()
	if s.sampler, err = newSampler(ctx, s.target.operator); err != nil {
		return err
	}
	accounts := s.Accounts
	if s.neighbours() {
		accounts = 1 + len(s.waysOfGreed())
	}
	if err := s.enrol(ctx, accounts); err != nil {
		return err
	}
	for i := range s.Scenarios {
		if s.neighbours() || s.Scenarios[i].needs(refund) || s.Scenarios[i].needs(statement) {
			return s.pay(ctx)
		}
	}
	return nil
}

// startOwn starts an engine on a temporary folder.
func (s *session) startOwn() (err error) {
	if s.folder, err = os.MkdirTemp(s.TempDir, "pixbench-"); err != nil {
		return fmt.Errorf("folder for an engine: %w", err)
	}
	if s.neighbours() {
		s.simApart = true
	}
	token := newToken()
	variables := []string{tokenVariable + "=" + token, schemeSecret + "=" + newToken()}
	args := []string{"-dir", filepath.Join(s.folder, "engine"), "-sync-delay", s.SyncDelay.String()}
	if s.neighbours() {
		args = append(args, "-neighbours")
	}
	var sim string
	if s.simApart {
		if sim, err = freePort(); err != nil {
			return err
		}
		args = append(args, "-scheme", "http://"+sim)
	}
	if s.process, err = StartProcess(cmp.Or(s.role, roleEngine), variables, args...); err != nil {
		return err
	}
	s.Target = "http://" + s.process.Addr
	s.Operator = &operator.Client{Base: "http://" + s.process.Control, Token: token}
	if !s.simApart {
		return nil
	}
	s.Sim = &operator.Client{Base: "http://" + sim, Token: token}
	s.startSim = func() (err error) {
		s.second, err = StartProcess(roleSim, variables, "-dir", filepath.Join(s.folder, "sim"), "-listen", sim, "-scheme", s.Operator.Base, "-sync-delay", s.SyncDelay.String())
		return err
	}
	return s.startSim()
}

// neighbours reports whether the load is of that scenario.
func (o *Options) neighbours() bool {
	return len(o.Scenarios) == 1 && o.Scenarios[0].Name == neighbours
}

// freePort returns an address of this machine that nobody listens on.
func freePort() (string, error) {
	l, err := listenLocal()
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// close ends our own engine and removes its folder.
func (s *session) close() (err error) {
	for _, p := range []*Process{s.process, s.second} {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
	}
	if s.folder != "" {
		err = errors.Join(err, os.RemoveAll(s.folder))
	}
	return err
}

// newTag returns a short random word.
func newTag() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return "b" + hex.EncodeToString(b[:])
}
