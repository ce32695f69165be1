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

	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

func medRefund(f *adminFlags) *cobra.Command {
	var who operatorFlag
	c := ofOne(&cobra.Command{
		Use:   "refund CASE_ID --operator NAME",
		Short: "Try the refunds of a special-return case again",
		Long: "Lets the engine try the refunds of an agreed special-return case again, of which one has failed for good\n" +
			"(alert med_refund_failed), under a new id, and shows the case. It is refused where none has failed, and\n" +
			"while one that has failed may still settle." + adminHelp,
		Example: "  pixd med refund med_agoksrikabyabfyvmcpxy5dmne --operator ana",
	}, "the case", func(c *cobra.Command, id string) error {
		body, err := who.body()
		if err != nil {
			return err
		}
		return caseAnswer.print(c, f, http.MethodPost, "/admin/med/"+id+"/refund", body)
	})
	who.add(c, "kept with the case")
	return c
}

func medResume(f *adminFlags) *cobra.Command {
	var who operatorFlag
	var all bool
	c := &cobra.Command{
		Use:   "resume CASE_ID|--all --operator NAME",
		Short: "Let special-return cases go on that wait since a restore",
		Long: "Lets a special-return case go on that waits since a restore whose gap was accepted, or with --all every\n" +
			"one, the oldest first. The engine asks the scheme first what was returned of the case's payment, books\n" +
			"what its journal lacks, and refunds only the rest. Where the scheme cannot say it, or a return is still\n" +
			"under way there, the case goes on waiting; --all goes on with the others, and ends with exit status 1." + adminHelp,
		Example: "  pixd med resume --all --operator ana",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return errors.New("name one case, or give --all")
			}
			body, err := who.body()
			if err != nil {
				return err
			}
			if all {
				return f.resumeAll(c, body)
			}
			id, err := operator.Segment(args[0])
			if err != nil {
				return err
			}
			return caseAnswer.print(c, f, http.MethodPost, "/admin/med/"+id+"/resume", body)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every case that waits since a restore")
	who.add(c, "kept with the case")
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
	gone, failed := list{Data: []json.RawMessage{}}, []string{}
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
	return nil
}
