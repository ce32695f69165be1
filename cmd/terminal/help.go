package terminal

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// The width of help, in columns: that of the terminal within these bounds.
const (
	narrowest = 80
	widest    = 100
)

// Help makes a command and all below it fold their help to the width of the terminal.
func Help(root *cobra.Command) {
	width := columns(os.Stdout)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width)))
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = Fold(c.Long, width)
		help(c, args)
	})
}

// columns returns the width of help on a file.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return narrowest
	}
	return min(max(int(size.Col), narrowest), widest)
}

// Fold folds a text's paragraphs to lines of at most width characters. A line that begins with
// a space stays as it is.
func Fold(text string, width int) string {
	var lines []string
	open := false // the last line may grow
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			lines, open = append(lines, line), false
			continue
		}
		for word := range strings.FieldsSeq(line) {
			last := len(lines) - 1
			if open && len([]rune(lines[last]))+1+len([]rune(word)) <= width {
				lines[last] += " " + word
			} else {
				lines, open = append(lines, word), true
			}
		}
	}
	return strings.Join(lines, "\n")
}
