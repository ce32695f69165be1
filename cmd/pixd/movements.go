package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-json"
	"github.com/jedib0t/go-pretty/v6/text"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

// movement is a movement in the API's answer.
type movement struct {
	Transaction  string `json:"transaction_id"`
	Type         string
	Status       string
	Direction    string
	Amount       pix.Amount
	Fee          pix.Amount `json:"fee_amount"`
	Net          pix.Amount `json:"net_amount"`
	Counterparty *string    `json:"counterparty_name"`
	Description  string
	BookedAt     string  `json:"booked_at"`
	CompletedAt  *string `json:"completed_at"`
}

// change is by how much the movement has changed the balance.
func (m *movement) change() pix.Amount {
	switch {
	case m.CompletedAt == nil:
		return 0
	case m.Direction == "outbound":
		return -m.Net
	}
	return m.Net
}

// movementColumns are the columns of a statement. Their widths are fixed, because rows are
// printed as they arrive; a wider cell moves the rest of its row.
var movementColumns = []struct {
	name  string
	width int
	align text.Align
}{
	{"BOOKED", 20, text.AlignLeft},
	{"TRANSACTION", 26, text.AlignLeft},
	{"TYPE", 8, text.AlignLeft},
	{"STATUS", 9, text.AlignLeft},
	{"AMOUNT BRL", 14, text.AlignRight},
	{"FEE BRL", 10, text.AlignRight},
	{"MOVEMENT BRL", 14, text.AlignRight},
	{"COUNTERPARTY", longestName, text.AlignLeft},
	{"DESCRIPTION", 0, text.AlignLeft},
}

// longestDescription is the largest number of characters of a description in a statement.
const longestDescription = 40

func (m *movement) cells() []string {
	counterparty := cut(orElse(m.Counterparty, "–", terminal.Plain), longestName)
	return []string{
		moment(m.BookedAt), terminal.Plain(m.Transaction), terminal.Plain(m.Type), terminal.Plain(m.Status), reais(m.Amount), reais(m.Fee), reais(m.change()),
		counterparty, cut(m.Description, longestDescription),
	}
}

func movementHeader() (names []string) {
	for _, column := range movementColumns {
		names = append(names, column.name)
	}
	return names
}

func movementRow(cells []string) string {
	var b strings.Builder
	for i, column := range movementColumns {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(column.align.Apply(cells[i], column.width))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// The statement's list has a movement on each line between its first and last lines; an empty
// list is one line.
const (
	listBegins  = `{"data":[`
	listEnds    = `],"next_cursor":null}`
	longestLine = 1 << 20 // bytes; a movement's line is far shorter
)

var errNoStatement = errors.New("the answer is no statement")

// movements prints the rows of a statement as they arrive.
func movements(out io.Writer, from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), longestLine)
	lines.Scan()
	begins := "no movements\n"
	switch lines.Text() {
	case listBegins + listEnds:
	case listBegins:
		begins = movementRow(movementHeader())
	default:
		return cmp.Or(lines.Err(), errNoStatement)
	}
	if _, err := io.WriteString(out, begins); err != nil {
		return err
	}
	ended := lines.Text() != listBegins
	for lines.Scan() {
		if ended {
			return errNoStatement
		}
		if ended = lines.Text() == listEnds; ended {
			continue
		}
		if err := printMovement(out, lines.Bytes()); err != nil {
			return err
		}
	}
	if lines.Err() == nil && !ended {
		return io.ErrUnexpectedEOF
	}
	return lines.Err()
}

func printMovement(out io.Writer, line []byte) error {
	var m movement
	if err := json.Unmarshal(bytes.TrimSuffix(line, []byte(",")), &m); err != nil {
		return fmt.Errorf("a movement of the statement: %w", err)
	}
	_, err := io.WriteString(out, movementRow(m.cells()))
	return err
}
