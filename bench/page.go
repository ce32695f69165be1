package bench

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/dustin/go-humanize/english"
)

//go:embed page.html
var pageText string

// pageTemplate makes a page of a report. It escapes all texts, which may have signs that mean
// something in HTML.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"legible": legible, "verdict": (*Audit).verdict, "facts": (*Report).facts,
	"cells": (*Run).cells, "load": (*Run).load, "sentences": (*Run).sentences, "errors": (*Run).errorRows, "plots": (*Run).plots,
	"beside": (*Neighbour).besideCells, "neighbourLines": (*Report).neighbourLines,
	"title": func(r *Report) string {
		return "pixd under load, " + r.StartedAt.UTC().Format("2 January 2006, 15:04 UTC")
	},
	"more":             func(r *Run) int { return max(0, len(r.Errors)-mostKinds) },
	"id":               func(i int) string { return "run-" + strconv.Itoa(i+1) },
	"columns":          func() []string { return runColumns },
	"neighbourColumns": func() []string { return neighbourColumns },
}).Parse(pageText))

// mostKinds is how many kinds of errors a page lists.
const mostKinds = 40

// A pageFact is a name and a value.
type pageFact struct{ Name, Value string }

// A pageVerdict is what the audit found. Class is good, open or bad.
type pageVerdict struct {
	Class, Sign, Headline string
	Lines                 []string
	Differences           []string
	More                  int // differences that are not listed
}

// A pageCell has the name of its column, because a narrow page shows it as a line of its own.
type pageCell struct {
	Column, Value string
	Bad           bool
}

// A pageError is how often requests failed in one way. Width is the share of the most frequent
// way in per cent, for a bar.
type pageError struct {
	Kind, Count, Share string
	Width              int
}

// WritePage writes the report as one HTML page that loads nothing: all plots are in it, and it
// has no script. It fails where w does, and where a plot cannot be drawn.
func (r *Report) WritePage(w io.Writer) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, r); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

func (r *Report) facts() []pageFact {
	where := legible(r.Engine.URL)
	if r.Engine.Own {
		where = "an engine of its own, started for the load on this machine, in a temporary folder"
	}
	facts := []pageFact{{"Engine", named(r.Engine.Version, r.Engine.Commit)}, {"Where", where}}
	if r.Engine.Sync != "" {
		facts = append(facts, pageFact{"Syncs of its files", "each took " + legible(r.Engine.Sync) + " longer than the machine's own"})
	}
	m := r.Machine
	machine := fmt.Sprintf("%s, %s of memory, %s, %s", legible(m.CPU), showSize(m.Memory), legible(m.System), legible(m.Go))
	return append(facts,
		pageFact{"Load from", plural(m.Cores, "processor") + ", " + machine},
		pageFact{"Program", "pixbench " + legible(r.Program)},
		pageFact{"Begun", r.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC")})
}

func named(version, commit string) string {
	name := "pixd of an unknown version"
	if version != "" {
		name = "pixd " + legible(version)
	}
	if commit != "" {
		name += ", commit " + legible(commit)
	}
	return name
}

// plural shows a number and the name of what was counted.
func plural(n int, name string) string {
	return showCount(n) + " " + english.PluralWord(n, name, "")
}

// verdict says what the audit found. Where it read no account it has compared nothing, and then
// it is not said to agree.
func (a *Audit) verdict() pageVerdict {
	found := max(a.Found, len(a.Differences))
	v := pageVerdict{Class: "good", Sign: "✓", Headline: "The books agree."}
	switch {
	case found > 0:
		v.Class, v.Sign = "bad", "✗"
		v.Headline = "The books differ: " + plural(found, "difference") + "."
		v.Differences, v.More = eachLegible(a.Differences), found-len(a.Differences)
	case a.Accounts == 0:
		v.Class, v.Sign, v.Headline = "open", "?", "The books were not compared."
	case a.Scheme != "compared":
		v.Class, v.Sign, v.Headline = "open", "!", "The engine's book agrees with what clients were answered; the scheme's book was not compared."
	}
	if a.Accounts > 0 {
		v.Lines = append(v.Lines, fmt.Sprintf("%s that money or a charge was changed, compared with %s in %s.",
			plural(a.Answers, "answer"), plural(a.Accounts, "account"), showSeconds(a.Seconds)))
	}
	if a.Scheme != "compared" && a.Scheme != "" {
		v.Lines = append(v.Lines, "The scheme's book was not compared: "+legible(a.Scheme)+".")
	} else if a.Scheme == "compared" {
		v.Lines = append(v.Lines, "The scheme's book was compared too.")
	}
	if a.Unknown > 0 {
		v.Lines = append(v.Lines, "Requests whose outcome the client does not know: "+showCount(a.Unknown)+".")
	}
	if len(a.Statuses) > 0 {
		v.Lines = append(v.Lines, "What the requests made, by status: "+a.sayEnds()+".")
	}
	if a.InFlight > 0 {
		v.Lines = append(v.Lines, "Transactions that were not settled when the audit ended: "+showCount(a.InFlight)+".")
	}
	return v
}

func eachLegible(texts []string) []string {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = legible(t)
	}
	return all
}
