package engine

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// moduleRoot is the path from this package to the module's root.
const moduleRoot = "../.."

// folders are the only folders in the module's root, besides those that begin with a dot.
var folders = []string{"actors", "bench", "cmd", "docs", "examples", "httpapi", "snapshot", "wal"}

// knows lists, for each package of this module, the other packages of the module that it may
// import. A name that ends in /** stands for all packages below that folder. A package
// without a row fails.
var knows = []struct {
	pkg    string
	others []string
}{
	{"actors/cbormap", nil},
	{"actors/pix", nil},
	{"actors/layout", []string{"actors/cbormap", "actors/pix"}},
	{"actors/ledger", []string{"actors/cbormap", "actors/layout", "actors/pix", "actors/redact"}},
	{"actors/ledger/ledgertest", []string{"actors/layout", "actors/ledger", "actors/pix"}},
	{"actors/redact", nil},
	{"actors/scheme", []string{"actors/ledger", "actors/pix"}},
	{"actors/scheme/brcode", nil},
	{"actors/scheme/sim", []string{"actors/cbormap", "actors/keyed", "actors/ledger", "actors/pix", "actors/scheme", "wal"}},
	{"actors/scheme/provider", []string{"actors/ledger", "actors/pix", "actors/redact", "actors/scheme", "actors/strictjson"}},
	{"actors/system", nil},
	{"actors/transfer", []string{"actors/due", "actors/fair", "actors/ledger", "actors/pix", "actors/scheme"}},
	{"actors/webhook", []string{"actors/alarms", "actors/fair", "actors/layout", "actors/ledger", "actors/pix", "actors/redact", "actors/system", "wal"}},
	{"actors/strictjson", nil},
	{"actors/keyed", nil},
	{"actors/fair", nil},
	{"actors/sorted", nil},
	{"actors/clock", []string{"actors/pix"}},
	{"actors/audit", []string{"actors/history", "actors/layout", "actors/ledger", "actors/pix", "actors/scheme", "wal"}},
	{"actors/alerts", []string{"actors/clock", "actors/ledger", "actors/pix", "wal"}},
	{"actors/catchup", []string{"actors/account", "actors/cbormap", "actors/layout", "actors/ledger", "actors/pix", "actors/scheme", "actors/scheme/provider", "wal"}},
	{"actors/restored", []string{"actors/history", "actors/layout", "actors/ledger", "actors/pix", "actors/registry", "actors/webhook", "wal"}},
	{"actors/registry", []string{"actors/cbormap", "actors/keyed", "actors/layout", "actors/ledger", "actors/pix", "actors/redact", "wal"}},
	{"actors/history", []string{"actors/fair", "actors/layout", "actors/ledger", "actors/pix", "wal"}},
	{"actors/alarms", []string{"actors/pix"}},
	{"actors/due", []string{"actors/alarms", "actors/fair", "actors/layout", "actors/ledger", "actors/pix"}},
	{"actors/account", []string{"actors/due", "actors/keyed", "actors/layout", "actors/ledger", "actors/pix", "actors/scheme", "actors/system", "actors/transfer", "wal"}},
	{"actors/account/accounttest", []string{"actors/account", "actors/due", "actors/ledger", "actors/pix"}},
	{"actors/simulation", nil}, // its tests may import everything
	{"wal", nil},
	{"wal/etcdlog", []string{"wal"}},
	{"wal/waltest", []string{"wal"}},
	{"snapshot", nil},
	{"httpapi", []string{"actors/fair", "actors/layout", "actors/ledger", "actors/pix", "actors/registry", "actors/scheme/brcode", "httpapi/qr", "httpapi/receipt"}},
	{"docs/openapi", nil},
	{"docs/openapi/openapitest", []string{"docs/openapi"}}, // of tests
	{"httpapi/reference", []string{"docs/openapi"}},
	{"httpapi/qr", nil},
	{"httpapi/plot", nil},
	{"httpapi/console", []string{"actors/fair", "actors/pix", "actors/redact", "actors/registry", "httpapi", "httpapi/admin", "httpapi/control", "httpapi/plot"}},
	{"httpapi/receipt", []string{"actors/pix"}},
	{"httpapi/control", []string{"actors/ledger", "actors/pix", "actors/redact", "actors/registry", "actors/strictjson", "httpapi"}},
	{"httpapi/signed", []string{"actors/scheme/provider", "httpapi/control"}},
	{"httpapi/notices", []string{"actors/fair", "actors/pix", "actors/scheme", "actors/scheme/provider", "httpapi/control", "httpapi/signed"}},
	{"httpapi/sim", []string{"docs/openapi", "httpapi/reference", "actors/pix", "actors/scheme", "actors/scheme/brcode", "actors/scheme/provider", "actors/scheme/sim", "actors/strictjson", "httpapi/control", "httpapi/signed"}},
	{"httpapi/admin", []string{"actors/alerts", "actors/clock", "actors/fair", "actors/layout", "actors/ledger", "actors/pix", "actors/redact", "actors/registry", "actors/scheme/sim", "actors/strictjson", "httpapi", "httpapi/control", "httpapi/notices", "httpapi/reference", "httpapi/sim"}},
	{"cmd/**", []string{"actors/**", "docs/openapi", "wal", "wal/etcdlog", "snapshot", "httpapi/**", "cmd/**", "bench/**"}},
	{"bench/**", []string{"actors/**", "wal", "snapshot", "httpapi/**", "cmd/**", "bench/**"}},
}

// outside lists packages of other modules that only some of our packages may import.
var outside = []struct {
	path     string // the path of an imported package; it stands for every package below that path too
	packages []string
}{
	{"github.com/asynkron/protoactor-go", []string{"actors/**"}},
	{"encoding/json", []string{"actors/strictjson"}},
	{"github.com/cockroachdb/pebble", []string{"wal", "snapshot"}},
	{"go.etcd.io/etcd", []string{"wal/etcdlog"}},
	{"github.com/valyala/fasthttp", []string{"httpapi/**", "cmd/**", "bench/**", "docs/openapi/openapitest"}},
	{"github.com/go-analyze/charts", []string{"httpapi/plot", "bench/**"}}, //nolint:misspell // its name
	{"github.com/HdrHistogram/hdrhistogram-go", []string{"bench/**"}},
	{"github.com/fasthttp/router", []string{"httpapi/**", "cmd/engine"}},
	{"codeberg.org/go-pdf/fpdf", []string{"httpapi/receipt"}},
	{"github.com/google/uuid", []string{"cmd/**", "bench/**"}}, // the package uses entropy
	{"github.com/spf13", []string{"cmd/**"}},
	{"github.com/pb33f", []string{"docs/openapi/openapitest"}},
	{"sigs.k8s.io/yaml", []string{"docs/openapi/**"}},
	{"code.dny.dev/ssrf", []string{"actors/webhook"}},
	{"github.com/standard-webhooks/standard-webhooks", []string{"actors/webhook", "cmd/pixd"}},
	{"github.com/chromedp", []string{"cmd/pixd"}}, // in its tests
	{"testing", nil},
}

// pure lists the packages without clock (time is allowed for its formats; calls that read a clock are
// found below), entropy, I/O or lock.
var pure = []string{"actors/pix", "actors/layout", "actors/ledger"}

// pureImports are all packages that these may import.
var pureImports = []string{
	"crypto/hmac", "crypto/sha256", "encoding/base32", "encoding/base64", "encoding/binary", "encoding/hex", "errors", "fmt",
	"cmp", "math", "regexp", "slices", "strings", "time", "unicode/utf8",
	"pixd/actors/cbormap", "pixd/actors/layout", "pixd/actors/pix", "pixd/actors/redact",
}

// readsClock lists the calls by which files outside cmd and bench may read a clock or wait.
// All other files get clock and entropy from cmd.
var readsClock = []struct{ file, what string }{
	{"httpapi/server.go", "time.Now"},        // a socket's deadline is a time of the wall clock; nothing is decided by it
	{"httpapi/connections.go", "time.Sleep"}, // without file descriptors; some may be free a moment later
}

// source is one Go file that is not a test.
type source struct {
	file string // path from the module's root, with slashes
	pkg  string
	ast  *ast.File
}

func (s source) imports() (paths []string) {
	for _, i := range s.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// within reports whether a pattern covers a package.
func within(pkg, pattern string) bool {
	below, all := strings.CutSuffix(pattern, "/**")
	return pkg == below || all && strings.HasPrefix(pkg, below+"/")
}

func among(pkg string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return within(pkg, p) })
}

// forbidden returns the file's first import that is not allowed.
func (s source) forbidden() string {
	row := slices.IndexFunc(knows, func(k struct {
		pkg    string
		others []string
	},
	) bool {
		return within(s.pkg, k.pkg)
	})
	if row < 0 {
		return "the package has no row in knows"
	}
	for _, i := range s.imports() {
		if other, ours := strings.CutPrefix(i, "pixd/"); ours && !among(other, knows[row].others) {
			return i
		}
		if slices.Contains(pure, s.pkg) && !slices.Contains(pureImports, i) {
			return i
		}
		for _, o := range outside {
			if (i == o.path || strings.HasPrefix(i, o.path+"/")) && !among(s.pkg, o.packages) {
				return i
			}
		}
	}
	return ""
}

// draws lists the places where the file reads a clock, waits, or takes entropy itself.
func (s source) draws() (found []string) {
	if within(s.pkg, "cmd/**") || within(s.pkg, "bench/**") {
		return nil
	}
	for _, i := range s.imports() {
		if i == "crypto/rand" || i == "math/rand" || i == "math/rand/v2" {
			found = append(found, i)
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, _ := sel.X.(*ast.Ident)
			name := sel.Sel.Name
			if x != nil && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "Tick"}, name) {
				found = append(found, "time."+name)
			}
		}
		return true
	})
	return slices.DeleteFunc(found, func(what string) bool {
		return slices.Contains(readsClock, struct{ file, what string }{s.file, what})
	})
}

// serves returns the first use of fasthttp's server in a package that must not open a server.
func (s source) serves() (found string) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, _ := sel.X.(*ast.Ident)
			if x != nil && x.Name == "fasthttp" && (sel.Sel.Name == "Server" || strings.Contains(sel.Sel.Name, "Serve")) {
				found = cmp.Or(found, "fasthttp."+sel.Sel.Name)
			}
		}
		return true
	})
	if among(s.pkg, []string{"httpapi/**", "cmd/**", "bench/**"}) {
		return ""
	}
	return found
}

func parse(t *testing.T, file string, src any) source {
	t.Helper()
	name := filepath.Join(moduleRoot, filepath.FromSlash(file))
	tree, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{file, path.Dir(file), tree}
}

// everySource returns every Go file of the module that is not a test. A folder with a go.mod of its own is another module.
func everySource(t *testing.T) (all []source) {
	err := fs.WalkDir(os.DirFS(moduleRoot), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() && p != "." && isModule(p):
			return fs.SkipDir
		case strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go"):
			all = append(all, parse(t, p, nil))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d files: the root is elsewhere", len(all))
	}
	return all
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(moduleRoot, filepath.FromSlash(folder), "go.mod"))
	return err == nil
}

// TestFolders checks that the module has no folders besides those in folders.
func TestFolders(t *testing.T) {
	entries, err := os.ReadDir(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		ignored := strings.HasSuffix(e.Name(), "-data") || e.Name() == "bin" // folders that .gitignore names
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !ignored && !slices.Contains(folders, e.Name()) {
			t.Errorf("%s/ is no package of this module", e.Name())
		}
	}
}

// TestArrows checks every file's imports, clocks and entropy against the tables knows,
// outside and readsClock.
func TestArrows(t *testing.T) {
	used := map[string]bool{}
	for _, s := range everySource(t) {
		if what := s.forbidden(); what != "" {
			t.Errorf("%s: may not import %s", s.file, what)
		}
		for _, what := range s.draws() {
			t.Errorf("%s: %s: clock and entropy are handed inwards by cmd", s.file, what)
		}
		if what := s.serves(); what != "" {
			t.Errorf("%s: %s: only httpapi, cmd and bench serve", s.file, what)
		}
		if slices.Contains(pure, s.pkg) {
			for _, i := range s.imports() {
				used[i] = true
			}
		}
	}
	for _, i := range pureImports {
		if !used[i] {
			t.Errorf("the list of the pure packages allows %s, which none of them imports", i)
		}
	}
}

// TestArrowsFindMutations checks that TestArrows would find each of these files.
func TestArrowsFindMutations(t *testing.T) {
	for _, c := range []struct{ file, imports, body, want string }{
		{"actors/ledger/a.go", `"os"`, "", "os"},
		{"actors/ledger/a.go", `"sync"`, "", "sync"},
		{"actors/pix/a.go", `"os"`, "", "os"},
		{"actors/layout/a.go", `"pixd/actors/ledger"`, "", "pixd/actors/ledger"},
		{"actors/ledger/a.go", `"pixd/wal"`, "", "pixd/wal"},
		{"actors/ledger/a.go", `"time"`, "var _ = time.Now()", "time.Now"},
		{"actors/account/a.go", `"pixd/actors/registry"`, "", "pixd/actors/registry"},
		{"actors/account/a.go", `"pixd/cmd/engine"`, "", "pixd/cmd/engine"},
		{"actors/account/a.go", `"github.com/cockroachdb/pebble/v2"`, "", "github.com/cockroachdb/pebble/v2"},
		{"actors/account/a.go", `mrand "math/rand/v2"`, "", "math/rand/v2"},
		{"actors/transfer/a.go", `"time"`, "var _ = time.Since(time.Time{})", "time.Since"},
		{"httpapi/a.go", `"pixd/actors/account"`, "", "pixd/actors/account"},
		{"httpapi/a.go", `"pixd/actors/history"`, "", "pixd/actors/history"},
		{"httpapi/a.go", `"pixd/actors/scheme/sim"`, "", "pixd/actors/scheme/sim"},
		{"httpapi/a.go", `"github.com/asynkron/protoactor-go/actor"`, "", "github.com/asynkron/protoactor-go/actor"},
		{"httpapi/a.go", `"crypto/rand"`, "", "crypto/rand"},
		{"httpapi/a.go", `"codeberg.org/go-pdf/fpdf"`, "", "codeberg.org/go-pdf/fpdf"},
		{"httpapi/receipt/a.go", `"pixd/httpapi"`, "", "pixd/httpapi"},
		{"wal/a.go", `"pixd/actors/ledger"`, "", "pixd/actors/ledger"},
		{"wal/a.go", `"testing"`, "", "testing"},
		{"snapshot/a.go", `"pixd/wal"`, "", "pixd/wal"},
		{"actors/account/a.go", `"code.dny.dev/ssrf"`, "", "code.dny.dev/ssrf"},
		{"httpapi/a.go", `w "github.com/standard-webhooks/standard-webhooks/libraries/go"`, "", "github.com/standard-webhooks/standard-webhooks/libraries/go"},
		{"actors/webhook/provider/a.go", "", "", "the package has no row in knows"},
		{"actors/scheme/a.go", `"github.com/valyala/fasthttp"`, "var _ fasthttp.Server", "github.com/valyala/fasthttp"},
	} {
		s := parse(t, c.file, fmt.Sprintf("package p\nimport (%s)\n%s\n", c.imports, c.body))
		if got := cmp.Or(s.forbidden(), strings.Join(s.draws(), " ")); got != c.want {
			t.Errorf("%s importing %s: found %q, want %q", c.file, c.imports, got, c.want)
		}
		if strings.Contains(c.body, "Server") && s.serves() != "fasthttp.Server" {
			t.Errorf("%s: a server was not found", c.file)
		}
	}
}
