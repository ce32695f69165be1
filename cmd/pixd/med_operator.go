package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"pixd/cmd/terminal"
)

var medRefund = request{
	use:   "refund CASE_ID --operator NAME",
	short: "Try the refunds of a special-return case again",
	long: "Lets the engine try the refunds of an agreed special-return case again, of which one has failed for good\n" +
		"(alert med_refund_failed), under a new id, and shows the case. It is refused where none has failed, and\n" +
		"while one that has failed may still settle.",
	example: "  pixd med refund med_agoksrikabyabfyvmcpxy5dmne --operator ana",
	of:      "the case", method: http.MethodPost, path: "/admin/med/{id}/refund", print: printCase,
	fields: []field{operatorField("kept with the case")},
}

func medResume(f *adminFlags) *cobra.Command {
	r := request{
		use:   "resume CASE_ID|--all --operator NAME",
		short: "Let special-return cases go on that wait since a restore",
		long: "Lets a special-return case go on that waits since a restore whose gap was accepted, or with --all every\n" +
			"one, the oldest first. The engine asks the scheme first what was returned of the case's payment, books\n" +
			"what its journal lacks, and refunds only the rest. Where the scheme cannot say it, or a return is still\n" +
			"under way there, the case goes on waiting; --all goes on with the others, and ends with exit status 1.",
		example: "  pixd med resume --all --operator ana",
		of:      "the case", method: http.MethodPost, path: "/admin/med/{id}/resume", print: printCase,
		fields: []field{operatorField("kept with the case")},
	}
	c := r.command(f)
	all := c.Flags().Bool("all", false, "every case that waits since a restore")
	resumeOne := c.RunE
	c.Args = cobra.MaximumNArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		if *all == (len(args) == 1) {
			return errors.New("name one case, or give --all")
		}
		if !*all {
			return resumeOne(c, args)
		}
		body, err := r.body(c, args)
		if err != nil {
			return err
		}
		return f.resumeAll(c, body)
	}
	return c
}

// resumeAll lets every case go on that waits since a restore, and shows those that went on.
func (f *adminFlags) resumeAll(c *cobra.Command, body map[string]any) error {
	o, err := f.Client()
	if err != nil {
		return err
	}
	l, err := (&listFlags{}).read(c, o, "/admin/med", url.Values{})
	if err != nil {
		return err
	}
	waiting, err := entries[medCase](l)
	if err != nil {
		return err
	}
	gone, failed := list{Data: []json.RawMessage{}, Damaged: l.Damaged}, []string{}
	for i := range waiting {
		if !waiting[i].Awaits {
			continue
		}
		got, err := f.ask(c, http.MethodPost, "/admin/med/"+waiting[i].ID+"/resume", body)
		if err != nil {
			failed = append(failed, terminal.Plain(waiting[i].ID)+": "+err.Error())
			continue
		}
		gone.Data = append(gone.Data, got)
	}
	if err := showEntries(c, f, gone, cases, ""); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s: %s", english.Plural(len(failed), "case still waits", "cases still wait"), strings.Join(failed, "; "))
	}
	if l.Damaged > 0 {
		return fmt.Errorf("%s left out, which may wait: their records are damaged", english.Plural(l.Damaged, "case is", "cases are"))
	}
	return nil
}
