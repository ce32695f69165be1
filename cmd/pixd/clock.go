package main

import (
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"pixd/cmd/terminal"

	"github.com/goccy/go-json"

	"github.com/spf13/cobra"
)

func clockCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "clock",
		Short: "Show a running engine's clock, or accept it",
		Long: "Shows a running engine's clock, or accepts it.\n\n" +
			"Stamps and due times go by engine time: the wall clock as it was at the start, plus what has elapsed\n" +
			"since. It is doubted from the start until the scheme has stated a time within a minute of it, whenever\n" +
			"the two differ by more, and while it is behind the journal's newest record. While it is doubted nothing\n" +
			"is voided, nothing expires and no repeat window ends.",
		Example: "  pixd clock show\n  pixd clock accept --operator ana",
	}
	c.AddCommand(clockShowCommand(), clockAcceptCommand())
	return c
}

func clockShowCommand() *cobra.Command {
	f := &adminFlags{}
	c := &cobra.Command{
		Use:     "show",
		Short:   "Show engine time, and whether it is doubted",
		Long:    "Shows engine time, how far the other clocks are from it, and whether it is doubted." + adminHelp,
		Example: "  pixd clock show",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return f.clock(c, http.MethodGet, nil) },
	}
	f.Add(c)
	return c
}

func clockAcceptCommand() *cobra.Command {
	f := &adminFlags{}
	var operator string
	c := &cobra.Command{
		Use:   "accept --operator NAME",
		Short: "Say that the engine's clock is right",
		Long: "Tells a running engine that its clock is right, though the scheme's differs or the journal is ahead of\n" +
			"it. A difference that changes by more than a minute later is doubted again." + adminHelp,
		Example: "  pixd clock accept --operator ana",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !utf8.ValidString(operator) { // JSON would replace the invalid bytes
				return fmt.Errorf("--operator is not in UTF-8")
			}
			return f.clock(c, http.MethodPost, map[string]any{"operator": operator})
		},
	}
	f.Add(c)
	c.Flags().StringVar(&operator, "operator", "", "the `NAME` of who decides, 1 to 100 characters; it is logged")
	_ = c.MarkFlagRequired("operator")
	return c
}

// clock sends a request about the engine's clock and shows the answer.
func (f *adminFlags) clock(c *cobra.Command, method string, body map[string]any) error {
	got, err := f.ask(c, method, "/admin/clock", body)
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(c.OutOrStdout(), got)
	}
	var s clockState
	if err := json.Unmarshal(got, &s); err != nil {
		return fmt.Errorf("%s answers no clock: %w", f.URL, err)
	}
	_, err = io.WriteString(c.OutOrStdout(), s.facts())
	return err
}

// clockState is the state of engine time in an answer of the operator API.
type clockState struct {
	Now     string
	Doubted bool
	Behind  int64  `json:"behind_journal_ms"`
	Wall    int64  `json:"wall_difference_ms"`
	Scheme  *int64 `json:"scheme_difference_ms"`
}

func (s *clockState) facts() string {
	doubted, scheme := "no", "not stated since the start"
	if s.Doubted {
		doubted = "yes: nothing is voided and nothing expires"
	}
	if s.Scheme != nil {
		scheme = aside(*s.Scheme)
	}
	return facts([]fact{
		{"engine time", terminal.Plain(s.Now)},
		{"doubted", doubted},
		{"scheme's clock", scheme},
		{"wall clock", aside(s.Wall)},
		{"behind the journal", (time.Duration(s.Behind) * time.Millisecond).String()},
	})
}

// aside shows the difference between another clock and engine time.
func aside(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < 0:
		return (-d).String() + " behind"
	case d > 0:
		return d.String() + " ahead"
	}
	return "the same"
}
