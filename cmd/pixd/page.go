package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

// listFlags select the part of a list that a command shows: the whole list, or one page.
type listFlags struct {
	limit  int
	cursor string
}

const listHelp = "\n\nWithout --limit and --cursor it shows all, page by page; with either it shows one page, and how to\n" +
	"get the next."

func (f *listFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.limit, "limit", 0, "one page of at most `N` entries, 1 to 200 (default all; 50 with --cursor)")
	c.Flags().StringVar(&f.cursor, "cursor", "", "one page from this `CURSOR` on, the next_cursor of the page before")
}

// list is a list, or one page of it, in the API's answer.
type list struct {
	Data    []json.RawMessage `json:"data"`
	Next    *string           `json:"next_cursor"`
	Damaged int               `json:"damaged,omitempty"`
	snapshotRuns
}

// snapshotRuns is what the API says beside a list of snapshots.
type snapshotRuns struct {
	Running   json.RawMessage `json:"running,omitempty"`
	Last      json.RawMessage `json:"last,omitempty"`
	Verifying json.RawMessage `json:"verifying,omitempty"`
	Verified  json.RawMessage `json:"verified,omitempty"`
}

// largestPage is the size of the API's largest page, which is used to read a whole list.
const largestPage = "200"

// read reads the part of a list that the flags and the query select.
func (f *listFlags) read(c *cobra.Command, o *operator.Client, path string, q url.Values) (list, error) {
	limited := c.Flags().Changed("limit")
	if limited {
		q.Set("limit", strconv.Itoa(f.limit))
	}
	if f.cursor != "" {
		q.Set("cursor", f.cursor)
	}
	if limited || f.cursor != "" {
		return page(c.Context(), o, path, q)
	}
	all := list{Data: []json.RawMessage{}}
	q.Set("limit", largestPage)
	for {
		l, err := page(c.Context(), o, path, q)
		if err != nil {
			return list{}, err
		}
		all.Data, all.Damaged = append(all.Data, l.Data...), all.Damaged+l.Damaged
		all.snapshotRuns = l.snapshotRuns
		if l.Next == nil {
			return all, nil
		}
		if *l.Next == q.Get("cursor") {
			return list{}, errors.New("the list does not go on: its next_cursor is the one that was sent")
		}
		q.Set("cursor", *l.Next)
	}
}

func page(ctx context.Context, o *operator.Client, path string, q url.Values) (l list, err error) {
	got, err := o.Do(ctx, http.MethodGet, path+"?"+q.Encode(), nil)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(got, &l); err != nil || l.Data == nil {
		return l, fmt.Errorf("%s answers no list", o.Base)
	}
	return l, nil
}

// entries decodes the entries of a list.
func entries[T any](l list) ([]T, error) {
	all := make([]T, len(l.Data))
	for i, raw := range l.Data {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			return nil, fmt.Errorf("entry %d of the list: %w", i+1, err)
		}
	}
	return all, nil
}

// listFilter is a flag that selects entries of a list. Its value is sent as a parameter of the
// query.
type listFilter struct{ flag, parameter, help string }

// listing is a command that shows a list of the operator API.
type listing[T any] struct {
	use, short, long, example string // its help; command adds to long how pages and the server are found

	path      string // of the list, with ofAccount below the account's path
	ofAccount bool   // the list is about the account that --account names
	filters   []listFilter
	show      func([]T) string
}

// command makes the command.
func (l listing[T]) command(f *adminFlags) *cobra.Command {
	c := &cobra.Command{Use: l.use, Short: l.short, Long: l.long + listHelp + f.help(), Example: l.example, Args: exactly(0, "")}
	var p listFlags
	var of accountFlag
	values := make([]string, len(l.filters))
	p.add(c)
	if l.ofAccount {
		of.add(c)
	}
	for i, filter := range l.filters {
		c.Flags().StringVar(&values[i], filter.flag, "", filter.help)
	}
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		path, again, q := l.path, c.CommandPath(), url.Values{}
		if l.ofAccount {
			if path, err = of.path(l.path); err != nil {
				return err
			}
			again += " --account " + terminal.Plain(of.id)
		}
		for i, filter := range l.filters {
			if values[i] != "" {
				q.Set(filter.parameter, values[i])
				again += " --" + filter.flag + " " + word(values[i])
			}
		}
		o, err := f.Client()
		if err != nil {
			return err
		}
		got, err := p.read(c, o, path, q)
		if err != nil {
			return err
		}
		return showEntries(c, f, got, l.show, p.next(got, again))
	}
	return c
}

// word shows a value as one word of a command line: in quotes where a shell would take it for
// something else.
func word(value string) string {
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("-_.:@/+=,", c)
	}
	value = terminal.Plain(value)
	if value != "" && !strings.ContainsFunc(value, func(c rune) bool { return !plain(c) }) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// showEntries prints a list, as JSON or as a text with more behind it.
func showEntries[T any](c *cobra.Command, f *adminFlags, l list, show func([]T) string, more string) error {
	if f.JSON {
		return printList(c.OutOrStdout(), l)
	}
	all, err := entries[T](l)
	if err != nil {
		return err
	}
	text := show(all)
	if l.Damaged > 0 {
		text += fmt.Sprintf("\nleft out: %d, whose records are damaged; pixd audit, or pixd journal verify of the stopped engine, names them\n", l.Damaged)
	}
	_, err = io.WriteString(c.OutOrStdout(), text+more)
	return err
}

// next returns the line with the command for the next page, or "" on the last page.
func (f *listFlags) next(l list, command string) string {
	if l.Next == nil {
		return ""
	}
	if f.limit != 0 {
		command += fmt.Sprintf(" --limit %d", f.limit)
	}
	return fmt.Sprintf("\nmore: %s --cursor %s\n", command, terminal.Plain(*l.Next))
}
