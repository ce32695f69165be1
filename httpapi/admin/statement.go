package admin

import (
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/httpapi/control"
)

const (
	// exportsAtOnce is how many statements may be sent at once. Each takes a few MB, and a
	// client that does not read it has its place for as long as the server waits for it.
	exportsAtOnce = 16
	// exportsShare is how many of them may be one operator's.
	exportsShare = 4
	// movementsAtOnce is how many movements are read from the store at once.
	movementsAtOnce = 1000
)

// exportStatement is GET /admin/accounts/:account_id/statement?from=&to=&format=: it sends all
// movements of the account that are booked when the request arrives and lie in the span, the
// oldest first.
func (s *service) exportStatement(ctx *fasthttp.RequestCtx, a *registry.Account) (int, any, error) {
	q := ctx.QueryArgs()
	from, until, err := ReadSpan(string(q.Peek("from")), string(q.Peek("to")))
	if err != nil {
		return 0, nil, err
	}
	e, name := &export{History: s.History, account: a.ID}, control.Who(ctx).Name
	answer := &control.Stream{ContentType: "application/json", Write: e.write, Done: func() { s.exports.Give(name) }}
	switch string(q.Peek("format")) {
	case "", "json":
		e.sheet = func(w io.Writer) sheet { return &jsonSheet{w: w, banks: s.Banks} }
	case "csv":
		e.sheet = func(w io.Writer) sheet { return newCSVSheet(w, s.Banks) }
		answer.ContentType = "text/csv; charset=utf-8; header=present"
	default:
		return 0, nil, control.Bad("format must be csv or json")
	}
	if !ctx.Request.Header.IsHTTP11() {
		return 0, nil, control.Refuse(fasthttp.StatusHTTPVersionNotSupported, "a statement is sent over HTTP/1.1, in which the client sees whether it is complete")
	}
	if s.exports.Take(ctx, name) != nil { // none waits
		return 0, nil, control.Refuse(fasthttp.StatusServiceUnavailable, "%d statements are being sent, or %d of this operator's: try again later", exportsAtOnce, exportsShare)
	}
	if err := e.begin(from, until); err != nil {
		s.exports.Give(name)
		return 0, nil, err
	}
	return fasthttp.StatusOK, answer, nil
}

// ReadSpan reads the two ends of a span of time: days in UTC, all of which counts, or instants.
// An instant lies in the span if first <= instant < until; 0 is no bound. An error begins with
// the name of the end that is at fault.
func ReadSpan(from, to string) (first, until pix.Millis, err error) {
	begin, _, err := readBound("from", from)
	if err != nil {
		return 0, 0, err
	}
	end, day, err := readBound("to", to)
	if err != nil {
		return 0, 0, err
	}
	if from != "" {
		first = max(0, inMillis(begin)) // nothing was booked before 1970
	}
	if to != "" {
		if day {
			end = end.AddDate(0, 0, 1)
		}
		if from != "" && (begin.After(end) || day && !begin.Before(end)) {
			return 0, 0, control.Bad("from must not be after to")
		}
		until = max(1, inMillis(end))
	}
	return first, until, nil
}

// readBound reads one end of a span; day is true if it names a whole day in UTC. An empty text
// is the zero time.
func readBound(name, text string) (at time.Time, day bool, err error) {
	if text == "" {
		return at, false, nil
	}
	if at, err = time.Parse(time.DateOnly, text); err == nil {
		return at, true, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, text); err == nil {
		return at, false, nil
	}
	return at, false, control.Bad("%s must be a day, such as 2026-01-31, or an ISO 8601 time, such as 2026-01-31T12:00:00Z", name)
}

// inMillis returns the first whole millisecond that is not before an instant.
func inMillis(at time.Time) pix.Millis {
	return pix.Millis(at.Add(time.Millisecond - 1).UnixMilli())
}

// export is a statement that is being sent.
type export struct {
	History
	account    pix.AccountID
	sheet      func(w io.Writer) sheet
	next, last uint64 // booking numbers: of the first movement that is not read yet, and of the statement's last one
	rows       []*ledger.Transaction
}

// begin finds the statement's movements and reads the first of them. So an account that cannot
// be read is answered with a status.
func (e *export) begin(from, until pix.Millis) (err error) {
	if e.next, e.last, err = e.Booked(e.account, from, until); err != nil {
		return fmt.Errorf("statement of %v: %w", e.account, err)
	}
	return e.read()
}

// read reads the next movements; none where the statement is at its end.
func (e *export) read() (err error) {
	e.rows = nil
	if e.next > e.last {
		return nil
	}
	to := min(e.last, e.next+movementsAtOnce-1)
	if e.rows, err = e.Movements(e.account, e.next, to); err != nil {
		return fmt.Errorf("statement of %v: movements %d to %d: %w", e.account, e.next, to, err)
	}
	e.next = to + 1
	return nil
}

// write writes the statement, of which the first movements are read already.
func (e *export) write(w io.Writer) error {
	s := e.sheet(w)
	if err := s.begin(); err != nil {
		return err
	}
	for len(e.rows) > 0 {
		for _, t := range e.rows {
			if err := s.row(t); err != nil {
				return err
			}
		}
		if err := e.read(); err != nil {
			return err
		}
	}
	return s.end()
}
