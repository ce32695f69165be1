package bench

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/cmd/engine"
	"pixd/cmd/machine"
	"pixd/cmd/overload"
	"pixd/cmd/snapshots"
)

// The roles of this test binary beside those of Play.
const (
	roleMeasured = "measured" // an engine with a second listener; see playEngine
	roleReceiver = "receiver"
	roleVerify   = "verify"
	rolePack     = "pack"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case roleMeasured:
		playEngine()
	case roleReceiver:
		playReceiver()
	case roleVerify:
		playVerify()
	case rolePack:
		err = snapshots.PlayPacker(os.Stdin, os.Stdout)
	default:
		err = Play(os.Args[1:], engine.Build{Version: "test"})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// untilOrphaned ends the process when its parent process ends, which closes standard input.
func untilOrphaned() {
	orphaned()
	os.Exit(0)
}

// playEngine runs an engine with a second listener, through which the benchmark prepares
// accounts and reads counters.
func playEngine() {
	c := engine.Defaults()
	c.DataDir, c.Listen, c.AdminListen = os.Args[1], "127.0.0.1:0", "127.0.0.1:0"
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c.OnFailure = func(err error) { panic(err) }
	c.WebhookInsecure = true // the receivers are on this machine
	c.RateLimit = 1 << 30    // a limit that no load reaches: requests are counted, but none is refused although all come from one address
	if ttl, err := time.ParseDuration(os.Getenv(queueTTLVariable)); err == nil {
		c.QueueTTL = ttl
	}
	if deadline, err := time.ParseDuration(os.Getenv(medDeadlineVariable)); err == nil {
		c.MEDDeadline = deadline
	}
	c.PackCommand = []string{rolePack}
	if err := os.Setenv(roleVariable, rolePack); err != nil { // of the process that packs snapshots
		panic(err)
	}
	go overload.Tune(context.Background())
	s, err := engine.Serve(c, engine.Build{})
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/accounts", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		made := makeAccounts(s, n)
		if r.FormValue("forget") != "" {
			made = nil
		}
		_ = json.NewEncoder(w).Encode(made)
	})
	http.HandleFunc("/counters", func(w http.ResponseWriter, _ *http.Request) {
		keys, bytes := s.Store.Written()
		_ = json.NewEncoder(w).Encode(counters{Keys: keys, Bytes: bytes, Resident: resident(), Lookups: s.Lookups(), CPU: machine.CPUTime()})
	})
	http.HandleFunc("/tables", func(w http.ResponseWriter, _ *http.Request) {
		_, log := s.Store.Written()
		_ = json.NewEncoder(w).Encode(storeBytes{Disk: s.Store.DiskUsage(), Log: log, Tables: s.Store.TableBytes()})
	})
	http.HandleFunc("/lookups", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s.Lookups()) })
	http.HandleFunc("/queued", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(countQueued(s)) })
	http.HandleFunc("/queue", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		fillQueue(s, n)
		_ = json.NewEncoder(w).Encode(n)
	})
	http.HandleFunc("/received", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		_ = json.NewEncoder(w).Encode(paidTo(s, n))
	})
	http.HandleFunc("/cases", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		openCases(s, n)
		_ = json.NewEncoder(w).Encode(n)
	})
	webhookHandlers(s)
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(isReady(s)) })
	http.HandleFunc("/snapshot", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(snapshotOnce(s, r.FormValue("base")))
	})
	http.HandleFunc("/overdue", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(lateness(s)) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(s.MerchantAddr, l.Addr())
	go untilOrphaned()
	panic(http.Serve(l, nil))
}

type counters struct {
	Keys, Bytes, Resident, Lookups uint64
	CPU                            time.Duration
}

// resident is the resident memory of the process, in bytes, after a forced garbage
// collection.
func resident() uint64 {
	debug.FreeOSMemory()
	n := ownMemory()
	if n == 0 {
		panic("the system does not say how much memory this process has")
	}
	return n
}

// makeAccounts opens n accounts, makes an API key for each, and credits each with money.
func makeAccounts(s *engine.Served, n int) []Credentials {
	out := make([]Credentials, n)
	var wait sync.WaitGroup
	for worker := range 64 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := worker; i < n; i += 64 {
				out[i] = makeAccount(s)
			}
		}()
	}
	wait.Wait()
	return out
}

func makeAccount(s *engine.Served) Credentials {
	id, evp, secret := machine.NewAccountID(), uuid.NewString(), "sk_"+rand.Text()
	settings := ledger.DefaultSettings()
	settings.Name, settings.Document = "Bench", "12345678909"
	if _, err := s.Registry.RegisterAccount(id, true, settings, pix.Key{Type: pix.KeyEVP, Value: evp}); err != nil {
		panic(err)
	}
	key := registry.APIKey{
		ClientID: "cli_" + evp, Account: id, SecretHash: sha256.Sum256([]byte(secret)), Permissions: registry.AllPermissions,
		Whitelist: []string{"127.0.0.1"}, Signing: true,
	}
	if _, err := s.Registry.MakeAPIKey(key); err != nil {
		panic(err)
	}
	if _, err := s.Accounts.Do(id, ledger.Credit{Kind: pix.TxTED, Amount: pix.MaxAmount}); err != nil {
		panic(err)
	}
	return Credentials{key.ClientID, secret}
}

// server is a process in one of the roles.
type server struct{ *Process }

func start(b *testing.B, role string, args ...string) *server {
	p, err := StartProcess(role, nil, args...)
	if err != nil {
		b.Fatal(err)
	}
	s := &server{p}
	b.Cleanup(s.end)
	return s
}

// end ends the process and waits for it; a second call does nothing.
func (s *server) end() { _ = s.Close() }

func (s *server) ask(b *testing.B, path string, into any) {
	client := http.Client{Timeout: 5 * time.Minute}
	r, err := client.Get("http://" + s.Control + path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		b.Fatal(err)
	}
}

// profile writes a CPU profile of the engine during a load to a file.
func (s *server) profile(file string) {
	r, err := http.Get("http://" + s.Control + "/debug/pprof/profile?seconds=4")
	if err != nil {
		return
	}
	defer func() { _ = r.Body.Close() }()
	if out, err := os.Create(file); err == nil {
		_, _ = io.Copy(out, r.Body)
		_ = out.Close()
	}
}
