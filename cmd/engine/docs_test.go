package engine

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameWhatIs checks that every file, folder, link, identifier, make target and flag
// which the docs, in the module's root and in docs, name in backquotes exists.
func TestDocsNameWhatIs(t *testing.T) {
	k := readKnown(t)
	named := 0
	for _, page := range docPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if !leadsSomewhere(page, m[1], m[2]) {
				t.Errorf("%s: the link to %s#%s leads nowhere", filepath.Base(page), m[1], m[2])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			is, there := k.judge(m[1])
			if is {
				named++
			}
			if is && !there {
				t.Errorf("%s: there is no %s", filepath.Base(page), m[1])
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d names were looked up", named)
	}
}

// docPages returns the paths of all pages of documentation.
func docPages(t *testing.T) (pages []string) {
	t.Helper()
	for _, folder := range []string{"", "docs"} {
		some, err := filepath.Glob(filepath.Join(moduleRoot, folder, "*.md"))
		if err != nil || len(some) < 3 {
			t.Fatalf("%d pages in %q (%v)", len(some), folder, err)
		}
		pages = append(pages, some...)
	}
	return pages
}

// leadsSomewhere tells whether a page's link to a file, and to a heading of that file, finds both. An
// empty file is the page itself; an empty anchor is any file's.
func leadsSomewhere(page, file, anchor string) bool {
	if file != "" {
		page = filepath.Join(filepath.Dir(page), file)
	}
	if anchor == "" {
		_, err := os.Stat(page)
		return err == nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return false
	}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		if notInAnchor.ReplaceAllString(strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"), "") == anchor {
			return true
		}
	}
	return false
}

// TestAlertsAreListed checks that docs/operating.md says what each kind of alert is about.
func TestAlertsAreListed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range alertKinds {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + kind + "`").Match(page) {
			t.Errorf("docs/operating.md has no row for %s", kind)
		}
	}
}

// TestDocsAreJudged checks that known.judge finds names that do not exist, and ignores texts
// that are no names of ours.
func TestDocsAreJudged(t *testing.T) {
	k := readKnown(t)
	for name, want := range map[string][2]bool{ // whether the text is a name of ours, and whether that name exists
		"actors/ledger": {true, true}, "actors/lodger": {true, false}, "cmd/engine/verify*.go": {true, true}, "cmd/engine/verily*.go": {true, false},
		"wal": {true, true}, "check.go": {true, true}, "chuck.go": {true, false}, "wal.Store.Tell": {true, true}, "wal.Store.Told": {true, false},
		"account.Feed": {true, true}, "account.Food": {true, false}, "ledger.Decide": {true, true}, "TestArrows": {true, true}, "TestNobodyWrote": {true, false},
		"make race": {true, true}, "make rice": {true, false}, "make sim N=7": {true, true}, "--orphan-after": {true, true}, "--orphan-before 5m": {true, false}, "--admin-ca FILE": {true, true}, "--odmin-ca": {true, false},
		"payout.held": {false, false}, "pix.payout.held": {false, false}, "accepted": {false, false}, "store/": {false, false}, "Retry-After: 1": {false, false},
		"COERCION": {false, false}, "{}": {false, false},
	} {
		if is, there := k.judge(name); is != want[0] || there != want[1] {
			t.Errorf("%s: a name %v, there %v", name, is, there)
		}
	}
}

var (
	link        = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_-]`)
	quoted      = regexp.MustCompile("`([^`\n]+)`")
	pathOfOurs  = regexp.MustCompile(`^(actors|bench|cmd|docs|examples|httpapi|snapshot|wal)(/[\w.*-]+)*$`)
	goFile      = regexp.MustCompile(`^[\w*]+\.go$`)
	identifier  = regexp.MustCompile(`^([a-z]+)((?:\.[A-Z]\w*)+)$`)
	test        = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
	target      = regexp.MustCompile(`^make ([a-z]+)\b`)
	option      = regexp.MustCompile(`^--([a-z][a-z-]+)\b`)
)

// known is every name that the docs may use.
type known struct {
	files    []string // paths of all files and folders, from the module's root
	declared map[string]bool
	packages map[string]bool
	targets  map[string]bool
	texts    map[string]bool // string literals of the commands, flags among them
}

// judge reports whether a text is a name of ours, and whether that name exists.
func (k *known) judge(name string) (is, there bool) {
	if m := identifier.FindStringSubmatch(name); m != nil && k.packages[m[1]] {
		return true, k.declared[m[1]+m[2]]
	}
	switch {
	case pathOfOurs.MatchString(name):
		return true, k.file(name)
	case goFile.MatchString(name):
		return true, k.file("*/" + name)
	case test.MatchString(name):
		return true, k.declared[name]
	}
	if m := target.FindStringSubmatch(name); m != nil {
		return true, k.targets[m[1]]
	}
	if m := option.FindStringSubmatch(name); m != nil {
		of, ca := strings.CutSuffix(m[1], "-ca") // each flag for a URL also has a flag with -ca for its certificates
		return true, k.texts[m[1]] || ca && k.texts["-ca"] && k.texts[of]
	}
	return false, false
}

// file reports whether a path exists; a path that begins with */ may be in any folder.
func (k *known) file(pattern string) bool {
	name, anywhere := strings.CutPrefix(pattern, "*/")
	for _, f := range k.files {
		if anywhere {
			f = path.Base(f)
		}
		if ok, err := path.Match(name, f); ok && err == nil {
			return true
		}
	}
	return false
}

func readKnown(t *testing.T) *known {
	t.Helper()
	k := &known{declared: map[string]bool{}, packages: map[string]bool{}, targets: map[string]bool{}, texts: map[string]bool{}}
	err := fs.WalkDir(os.DirFS(moduleRoot), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		k.files = append(k.files, p)
		if strings.HasSuffix(p, ".go") {
			k.read(parse(t, p, nil))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(moduleRoot, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(string(makefile), -1) {
		k.targets[m[1]] = true
	}
	return k
}

// read adds a file's declarations: functions, types with their methods and fields, variables
// and constants. A method is also known by its name alone.
func (k *known) read(s source) {
	pkg := s.ast.Name.Name
	k.packages[pkg] = true
	for _, d := range s.ast.Decls {
		f, is := d.(*ast.FuncDecl)
		switch {
		case !is:
		case f.Recv == nil && strings.HasSuffix(s.file, "_test.go"):
			k.declared[f.Name.Name] = true
		case f.Recv == nil:
			k.declared[pkg+"."+f.Name.Name] = true
		default:
			k.declared[pkg+"."+f.Name.Name] = true
			k.declared[pkg+"."+receiver(f.Recv.List[0].Type)+"."+f.Name.Name] = true
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			k.declared[pkg+"."+n.Name.Name] = true
			for _, f := range members(n.Type) {
				k.declared[pkg+"."+n.Name.Name+"."+f] = true
			}
		case *ast.ValueSpec:
			for _, v := range n.Names {
				k.declared[pkg+"."+v.Name] = true
			}
		case *ast.BasicLit:
			if within(s.pkg, "cmd/**") {
				k.texts[strings.Trim(n.Value, "\"`")] = true
			}
		}
		return true
	})
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// members returns the fields of a struct or the methods of an interface.
func members(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return names
}
