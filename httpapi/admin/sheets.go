package admin

import (
	"bufio"
	"encoding/csv"
	"io"

	"pixd/actors/ledger"
	"pixd/httpapi"
)

// sheet is a form of a statement. It may keep a part of the statement back until end.
type sheet interface {
	begin() error
	row(t *ledger.Transaction) error
	end() error
}

// pieceBytes is about how long the pieces are in which a statement is sent.
const pieceBytes = 64 << 10

// jsonSheet writes a list in JSON: {"data":[…],"next_cursor":null}. Each transaction has a line
// of its own, so that a reader need not have the whole list in memory.
type jsonSheet struct {
	w     io.Writer
	banks httpapi.Banks
	b     []byte
	some  bool
}

func (s *jsonSheet) begin() error {
	s.b = append(make([]byte, 0, pieceBytes+4<<10), `{"data":[`...)
	return nil
}

func (s *jsonSheet) row(t *ledger.Transaction) error {
	if s.some {
		s.b = append(s.b, ',')
	}
	s.some = true
	s.b = append(s.b, '\n')
	s.b = append(s.b, httpapi.Item(t, s.banks)...)
	if len(s.b) < pieceBytes {
		return nil
	}
	return s.flush()
}

func (s *jsonSheet) end() error {
	if s.some {
		s.b = append(s.b, '\n')
	}
	s.b = append(s.b, `],"next_cursor":null}`...)
	return s.flush()
}

func (s *jsonSheet) flush() error {
	_, err := s.w.Write(s.b)
	s.b = s.b[:0]
	return err
}

// csvSheet writes CSV (RFC 4180) in UTF-8, with the names of the columns in the first row.
type csvSheet struct {
	*csv.Writer
	banks httpapi.Banks
}

func newCSVSheet(w io.Writer, banks httpapi.Banks) *csvSheet {
	s := &csvSheet{csv.NewWriter(bufio.NewWriterSize(w, pieceBytes)), banks}
	s.UseCRLF = true
	return s
}

func (s *csvSheet) begin() error { return s.Write(httpapi.Columns()) }

func (s *csvSheet) row(t *ledger.Transaction) error { return s.Write(httpapi.Cells(t, s.banks)) }

func (s *csvSheet) end() error {
	s.Flush()
	return s.Error()
}
