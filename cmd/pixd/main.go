// Command pixd runs the engine and talks to it.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pixd/cmd/terminal"
)

func main() {
	if err := root().ExecuteContext(context.Background()); err != nil {
		// One line: what failed, and where.
		fmt.Fprintln(os.Stderr, "pixd: "+terminal.Plain(strings.ReplaceAll(err.Error(), "\n", "; ")))
		os.Exit(1)
	}
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "pixd",
		Short: "An engine that moves merchants' money over PIX",
		Long: "pixd holds merchants' PIX money, one actor per account, and answers nothing before it is on disk.\n\n" +
			"Every flag can be set by an environment variable: --data-dir is PIXD_DATA_DIR.",
		Example:           "  pixd serve --demo",
		Version:           func() string { v, _ := build(); return v }(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return fromEnvironment(c.Flags()) },
	}
	c.AddCommand(serveCommand(), demoCommand(), accountCommand(), keyCommand(), pixKeyCommand(), approveCommand(), declineCommand(), medCommand(), webhookCommand(), statementCommand(), auditCommand(), clockCommand(), clusterCommand(), simCommand(), signCommand(),
		listenCommand(), snapshotCommand(), journalCommand(), versionCommand())
	return c
}

// fromEnvironment sets every flag that is not on the command line and has an environment
// variable PIXD_<FLAG_WITH_UNDERSCORES>.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "PIXD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if !ok || f.Changed || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
	})
	return failed
}
