package main

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"pixd/httpapi/admin"
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
	for _, r := range []request{clockShow, clockAccept} {
		one := r.alone(&adminFlags{})
		one.Args = cobra.NoArgs
		c.AddCommand(one)
	}
	return c
}

var clockShow = request{
	use:     "show",
	short:   "Show engine time, and whether it is doubted",
	long:    "Shows engine time, how far the other clocks are from it, and whether it is doubted.",
	example: "  pixd clock show",
	method:  http.MethodGet, path: "/admin/clock", print: printClock,
}

var clockAccept = request{
	use:   "accept --operator NAME",
	short: "Say that the engine's clock is right",
	long: "Tells a running engine that its clock is right, though the scheme's differs or the journal is ahead of\n" +
		"it. A difference that changes by more than a minute later is doubted again.",
	example: "  pixd clock accept --operator ana",
	method:  http.MethodPost, path: "/admin/clock", fields: []field{operatorField("logged")}, print: printClock,
}

var printClock = printing("no clock", clockFacts)

func clockFacts(s *admin.Clock) string {
	doubted := "no"
	if s.Doubted {
		doubted = "yes: nothing is voided and nothing expires"
	}
	return facts([]fact{
		{"engine time", s.Now},
		{"doubted", doubted},
		{"scheme's clock", orElse(s.Scheme, "not stated since the start", aside)},
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
