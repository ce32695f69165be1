package engine

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"

	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/webhook"
)

// bounding matches the names of constants that bound work which several accounts share.
var bounding = regexp.MustCompile(`AtOnce$|Places$|Share$|Conns$|Connections$|InHand$|Lookups$|Lingering$|^maxIdle|Room$|^maxRepeats$|^batchRecords$|^mostEquals$`)

// notShared are constants with such a name that bound no work of several accounts.
var notShared = map[string]string{
	"actors/account bodyRoom":           "bytes that are set aside for a record's body",
	"httpapi/admin movementsAtOnce":     "rows that one export reads at once",
	"cmd/journal rowRoom":               "memory of an offline verification",
	"cmd/overload processorConnections": "from here on the intake is measured",
	"actors/webhook passAtOnce":         "rows that one look passes by",
	"cmd/journal chunksWaiting":         "parts of an offline verification",
	"cmd/journal mendedAtOnce":          "rows that an offline cut writes at once",
	"actors/catchup reservedAtOnce":     "ids that a catch-up reserves at once, before any merchant is served",
	"cmd/engine askedAtOnce":            "questions of a catch-up, before any merchant is served",
	"wal cutAtOnce":                     "keys that an offline cut deletes at once",
}

// foundBound is a bound in the code.
type foundBound struct{ pkg, name, value string }

// findBounds finds the constants with such names, and every pool of actors/fair and semaphore, by the
// package's folder.
func findBounds(t *testing.T) (all []foundBound, pools []string) {
	for _, root := range []string{"actors", "httpapi", "cmd", "wal", "snapshot"} {
		err := filepath.WalkDir(filepath.Join(moduleRoot, root), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), moduleRoot+"/")
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GenDecl:
					if n.Tok == token.CONST {
						all = append(all, constantsOf(pkg, n)...)
					}
				case *ast.CallExpr:
					if name := poolOf(n); name != "" {
						pools = append(pools, pkg+" "+name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, pools
}

func constantsOf(pkg string, d *ast.GenDecl) (all []foundBound) {
	for _, s := range d.Specs {
		v := s.(*ast.ValueSpec)
		for i, name := range v.Names {
			if !bounding.MatchString(name.Name) || i >= len(v.Values) {
				continue
			}
			b := foundBound{pkg: pkg, name: name.Name}
			if tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(v.Values[i])); err == nil && tv.Value != nil {
				if n, ok := constant.Int64Val(tv.Value); ok {
					b.value = humanize.Comma(n)
				}
			}
			all = append(all, b)
		}
	}
	return all
}

// poolOf returns the name of a bound that an expression takes: the places of a pool of
// actors/fair, or the capacity of a channel that is no single message's; empty: it takes none.
func poolOf(c *ast.CallExpr) string {
	if fn, ok := c.Fun.(*ast.Ident); ok && fn.Name == "make" && len(c.Args) == 2 {
		if _, ok := c.Args[0].(*ast.ChanType); ok {
			if name, ok := c.Args[1].(*ast.Ident); ok {
				return name.Name
			}
		}
	}
	fn := c.Fun
	if generic, ok := fn.(*ast.IndexExpr); ok {
		fn = generic.X
	}
	if s, ok := fn.(*ast.SelectorExpr); !ok || s.Sel.Name != "New" || fmt.Sprint(s.X) != "fair" || len(c.Args) != 1 {
		return ""
	}
	bounds, ok := c.Args[0].(*ast.CompositeLit)
	if !ok {
		return "a pool whose bounds have no names"
	}
	for _, e := range bounds.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && fmt.Sprint(kv.Key) == "Share" {
			return types.ExprString(kv.Value)
		}
	}
	return "a pool without a share"
}

// rowsOf are the rows of the page's tables, by the package and name of each bound that a row names.
func rowsOf(t *testing.T) map[string]string {
	page, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "bounds.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	name := regexp.MustCompile("`([A-Za-z]+)`")
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.SplitN(line, "|", 3)
		if len(cells) < 3 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		pkg := strings.Split(cells[1], "`")[1]
		for _, found := range name.FindAllStringSubmatch(line, -1) {
			rows[pkg+" "+found[1]] = line
		}
	}
	return rows
}

// TestBoundsPage checks that docs/bounds.md has a row for each constant that bounds shared work, with
// its number, and for each pool and semaphore.
func TestBoundsPage(t *testing.T) {
	rows := rowsOf(t)
	all, pools := findBounds(t)
	for _, b := range all {
		key := b.pkg + " " + b.name
		if notShared[key] != "" {
			continue
		}
		switch row := rows[key]; {
		case row == "":
			t.Errorf("docs/bounds.md has no row for %s", key)
		case b.value != "" && !says(row, b.value):
			t.Errorf("the row of %s does not say %s: %s", key, b.value, row)
		}
	}
	for _, key := range pools {
		if rows[key] == "" && notShared[key] == "" {
			t.Errorf("docs/bounds.md has no row for %s", key)
		}
	}
	used := map[string]bool{"cmd/journal chunksWaiting": true} // a channel's capacity
	for _, b := range all {
		used[b.pkg+" "+b.name] = true
	}
	for key := range notShared {
		if !used[key] {
			t.Errorf("%s is no constant of the code", key)
		}
	}
	if len(all) < 25 || len(pools) < 7 {
		t.Errorf("only %d constants and %d pools are found", len(all), len(pools))
	}
}

// says tells whether a row has a number.
func says(row, number string) bool {
	return regexp.MustCompile(`(^|[^0-9,])` + number + `($|[^0-9,]|,[^0-9])`).MatchString(row)
}

// TestBoundsOfMachines checks the page's numbers for the bounds that are fields.
func TestBoundsOfMachines(t *testing.T) {
	rows, d, w := rowsOf(t), due.DefaultBounds(), webhook.DefaultBounds()
	for key, numbers := range map[string][]int{
		"actors/due AtOnce": {d.AtOnce, d.Share, d.Remember}, "actors/due Probes": {d.Probes},
		"actors/webhook Good": {w.Good.All, w.Good.Account}, "actors/webhook Failing": {w.Failing.All, w.Failing.Account},
		"actors/webhook Slow": {w.Slow.All, w.Slow.Account}, "actors/webhook Each": {w.Each},
		"actors/account PerAccount": {account.DefaultPerAccount}, "actors/account Transfers": {account.DefaultTransfers},
	} {
		for _, n := range numbers {
			if !says(rows[key], humanize.Comma(int64(n))) {
				t.Errorf("the row of %s does not say %d: %q", key, n, rows[key])
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "bounds.md"))
	if all := w.Good.All + w.Failing.All + w.Slow.All; err != nil || !says(string(page), fmt.Sprint(all)) {
		t.Errorf("the page does not say that %d attempts run at once (%v)", all, err)
	}
}

// TestBoundsAreFound checks that pools and semaphores are found however they are written.
func TestBoundsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"make(chan struct{}, n)": "n", "make(chan struct{}, 1)": "", "make(chan int)": "", "make([]int, n)": "",
		"fair.New[int](fair.Bounds{Places: 4, Share: one})": "one", "fair.New(fair.Bounds{Places: 4})": "a pool without a share",
		"fair.New[int](b)": "a pool whose bounds have no names", "new(fair.Pool[int])": "",
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := poolOf(e.(*ast.CallExpr)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
