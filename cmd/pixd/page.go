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

	"pixd/cmd/operator"
	"pixd/cmd/terminal"

	"github.com/goccy/go-json"

	"github.com/spf13/cobra"
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
	c.Flags().StringVar(&f.cursor, "cursor", "", "one page from this next_cursor on")
}

// list is a list, or one page of it, in the API's answer.
type list struct {
	Data []json.RawMessage `json:"data"`
	Next *string           `json:"next_cursor"`
}

// largestPage is the size of the API's largest page, which is used to read a whole list.
const largestPage = "200"

// read reads the part of a list that the flags select.
func (f *listFlags) read(c *cobra.Command, o *operator.Client, path string) (list, error) {
	q := url.Values{}
	if c.Flags().Changed("limit") {
		q.Set("limit", strconv.Itoa(f.limit))
	}
	if f.cursor != "" {
		q.Set("cursor", f.cursor)
	}
	if len(q) > 0 {
		return page(c.Context(), o, path, q)
	}
	all := list{Data: []json.RawMessage{}}
	q.Set("limit", largestPage)
	for {
		l, err := page(c.Context(), o, path, q)
		if err != nil {
			return list{}, err
		}
		all.Data = append(all.Data, l.Data...)
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
	join := "?"
	if strings.Contains(path, join) { // the path has a query already, so the parameters are added to it
		join = "&"
	}
	path += join + q.Encode()
	got, err := o.Do(ctx, http.MethodGet, path, nil)
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

// showList prints the selected part of a list, as JSON or as a table with the command for
// the next page.
func showList[T any](c *cobra.Command, f *adminFlags, p *listFlags, path, again string, table func([]T) string) error {
	o, err := f.Client()
	if err != nil {
		return err
	}
	l, err := p.read(c, o, path)
	if err != nil {
		return err
	}
	if f.JSON {
		return printList(c.OutOrStdout(), l)
	}
	all, err := entries[T](l)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.OutOrStdout(), table(all)+p.next(l, again))
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
