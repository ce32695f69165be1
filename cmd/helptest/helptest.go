// Package helptest checks the help of a command and of all commands below it, and writes their
// manual pages.
package helptest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var pages = flag.String("man.dir", "", "write the manual pages into this folder")

// T is what a test is to this package.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	TempDir() string
}

// bare are the names of Go's types, which say nothing about what a flag takes.
var bare = []string{"", "string", "strings", "stringArray", "int", "ints", "uint", "float", "value"}

// width is the width of help that is no terminal's.
const width = 80

// Check checks that each command says what it does, in lines of at most 80 columns, with an
// example, and that each flag names what it takes. Commands of the root are in groups.
func Check(t T, root *cobra.Command) {
	t.Helper()
	complete(root)
	walk(root, func(c *cobra.Command) {
		path := c.CommandPath()
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its line %q in a list has no text, or ends with a stop", path, c.Short)
		}
		if cobras(c) {
			return
		}
		if c.Long == "" || c.Example == "" {
			t.Errorf("%s: has no text, or no example", path)
		}
		if len(root.Groups()) > 0 && c.Parent() == root && !root.ContainsGroup(c.GroupID) {
			t.Errorf("%s: is in no group", path)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { checkFlag(t, path, f) })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { checkFlag(t, path, f) })
		checkLines(t, c)
	})
}

func checkFlag(t T, path string, f *pflag.Flag) {
	t.Helper()
	takes, usage := pflag.UnquoteUsage(f)
	if usage == "" {
		t.Errorf("%s --%s: says nothing", path, f.Name)
	}
	if f.Value.Type() != "bool" && slices.Contains(bare, takes) {
		t.Errorf("%s --%s: does not say what it takes: %q", path, f.Name, takes)
	}
}

// checkLines checks the width of all lines but those to be pasted.
func checkLines(t T, c *cobra.Command) {
	t.Helper()
	var out strings.Builder
	c.SetOut(&out)
	if err := c.Help(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if utf8.RuneCountInString(line) > width && !oneWord(line) && !strings.Contains(c.Example, line) && !strings.HasPrefix(strings.TrimSpace(line), c.CommandPath()) {
			t.Errorf("%s: a line of more than %d columns: %s", c.CommandPath(), width, line)
		}
	}
}

// oneWord reports whether a line cannot be folded.
func oneWord(line string) bool { return len(strings.Fields(line)) == 1 }

// ManualPages writes a manual page of each command, into the folder of -man.dir where it is
// given. Its date is that of SOURCE_DATE_EPOCH, if that is set.
func ManualPages(t T, root *cobra.Command) {
	t.Helper()
	dir := *pages
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	complete(root)
	walk(root, escape)
	day := time.Unix(0, 0).UTC() // SOURCE_DATE_EPOCH comes before it
	header := &doc.GenManHeader{Section: "1", Source: root.Name(), Manual: root.Name() + " manual", Date: &day}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	walk(root, func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		text := strings.ReplaceAll(string(page), `\`, "")
		for _, said := range append(angled.FindAllString(c.Long, -1), c.Short) {
			if said = strings.ReplaceAll(said, `\`, ""); err != nil || !strings.Contains(text, said) {
				t.Errorf("%s does not say %q (%v)", name, said, err)
			}
		}
	})
}

// angled finds what Markdown would take for HTML, such as <data-dir>.
var angled = regexp.MustCompile(`\\?<[a-z-]+\\?>`)

// escape escapes what Markdown would take for HTML, as manual pages are made of Markdown.
func escape(c *cobra.Command) {
	angles := strings.NewReplacer("<", `\<`, ">", `\>`)
	c.DisableAutoGenTag = true
	c.Long = angles.Replace(c.Long)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = angled.ReplaceAllStringFunc(f.Usage, angles.Replace) })
}

// complete adds the commands that cobra adds by itself when it is executed.
func complete(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
}

// cobras reports whether cobra has made a command, and written its help.
func cobras(c *cobra.Command) bool {
	return c.Name() == "help" || c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion"
}

// walk calls visit for a command and every command below it that help lists.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			walk(below, visit)
		}
	}
}
