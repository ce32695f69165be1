// Command pixd runs the engine and talks to it.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

func main() {
	if err := root().ExecuteContext(context.Background()); err != nil {
		// One line: what failed, and where.
		lastWords("pixd: "+terminal.Plain(strings.ReplaceAll(err.Error(), "\n", "; ")), lastLines)
		os.Exit(1)
	}
}

// The groups of commands in help.
const (
	groupRun     = "run"
	groupMoney   = "money"
	groupCases   = "cases"
	groupOperate = "operate"
	groupDevelop = "develop"
)

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "pixd",
		Short: "An engine that moves merchants' money over PIX",
		Long: "pixd holds merchants' PIX money, one actor per account, and answers nothing before it is on disk. " +
			"`pixd serve` runs the engine; most other commands ask a running one, by its operator API.\n\n" +
			"Every flag can be set by an environment variable: --data-dir is PIXD_DATA_DIR. The command line comes first.\n\n" +
			"The operators' token is taken from the file of --token-file, else from PIXD_ADMIN_TOKEN, else from " +
			"./pixd-data/admin.token, else from " + operator.InstalledToken + ", which the engine of a package has made: " +
			"`sudo pixd account list` finds it.\n\n" +
			"An address is a host or IP address and a port, such as 127.0.0.1:8080. A duration is a number and a unit, " +
			"such as 200ms, 15s, 5m or 2h; a size 500MB or 1GiB. Amounts are base units: 1.00 BRL is 10000. Times are ISO 8601, " +
			"such as 2027-01-31T12:00:00Z.\n\n" +
			"Results are on standard output; progress, the log and errors on standard error. Exit status 0: it is done; " +
			"1: it is not, and a line says why; 3, of serve and sim: what they keep cannot be written.",
		Example:           "  pixd serve --demo\n  pixd account create --name \"Loja Aurora\" --document 12345678000195\n  pixd audit",
		Version:           func() string { v, _ := build(); return v }(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return fromEnvironment(c.Flags()) },
	}
	addGroup(c, groupRun, "Run the engine:", serveCommand(), demoCommand())
	addGroup(c, groupMoney, "Accounts and money:", accountCommand(), keyCommand(), pixKeyCommand(), approveCommand(), declineCommand(), transactionCommand(), statementCommand())
	addGroup(c, groupCases, "Cases and webhooks:", medCommand(), webhookCommand())
	addGroup(c, groupOperate, "Operations:", auditCommand(), snapshotCommand(), journalCommand(), clusterCommand(), clockCommand(), operatorCommand(), versionCommand())
	addGroup(c, groupDevelop, "Development:", simCommand(), signCommand(), listenCommand())
	c.SetHelpCommandGroupID(groupDevelop)
	c.SetCompletionCommandGroupID(groupDevelop)
	terminal.Help(c)
	return c
}

// addGroup adds commands to a root, in a group of its help.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
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
