package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pixd/bench"
)

func compareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Compare two reports",
		Long: "Prints, for each load that both reports of `pixbench run --json` have, the ratio of B to A of what was\n" +
			"measured. Exit status 1 if there is nothing to compare.",
		Example: "  pixbench run --scenario cash-out --json before.json\n  pixbench run --scenario cash-out --json after.json\n  pixbench compare before.json after.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("name two files that pixbench run --json has written, not %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			a, err := bench.ReadReport(args[0])
			if err != nil {
				return err
			}
			b, err := bench.ReadReport(args[1])
			if err != nil {
				return err
			}
			compared, err := bench.Compare(a, b)
			if err != nil {
				return err
			}
			return compared.Write(c.OutOrStdout())
		},
	}
}
