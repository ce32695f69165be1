package admin

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

// booked is a History in which every account has some movements.
type booked struct {
	History
	movements   uint64
	span        string // the bounds of the last call
	reads, most atomic.Int64
	broken      uint64 // the booking number of a movement that cannot be read; 0: all can be read
	tx          func(n uint64) *ledger.Transaction
}

func (b *booked) Booked(_ pix.AccountID, from, until pix.Millis) (first, last uint64, err error) {
	b.span = fmt.Sprint(int64(from), int64(until))
	return 1, b.movements, nil
}

func (b *booked) Movements(_ pix.AccountID, first, last uint64) (all []*ledger.Transaction, err error) {
	b.reads.Add(1)
	if n := int64(last - first + 1); n > b.most.Load() {
		b.most.Store(n)
	}
	for n := first; n <= last; n++ {
		if n == b.broken {
			return nil, errors.New("damage")
		}
		all = append(all, b.tx(n))
	}
	return all, nil
}

// ted is a movement of n base units.
func ted(n uint64) *ledger.Transaction {
	return &ledger.Transaction{
		ID: pix.TxID{byte(n), byte(n >> 8), byte(n >> 16), 1}, Kind: pix.TxTED, Status: pix.StatusCompleted, Amount: pix.Amount(n),
		Description: "salary, and =1", CreatedAt: testNow, BookedAt: testNow,
	}
}

// exporting returns an operator API over TCP, its History, and the path of an account's
// statement.
func exporting(t *testing.T, movements uint64) (b *booked, statement string) {
	t.Helper()
	f := newFixture(t)
	id := f.account()
	b = &booked{History: f.options.History, movements: movements, tx: ted}
	f.options.History = b
	return b, "http://" + f.serve().String() + "/admin/accounts/" + id + "/statement"
}

// serve serves the API over TCP.
func (f *fixture) serve() net.Addr {
	f.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s := httpapi.NewServer(New(f.options), httpapi.ServerOptions{Name: "operator", Log: log})
	done := make(chan error, 1)
	go func() { done <- s.Serve(httpapi.Limit(l, httpapi.ConnectionOptions{Log: log})) }()
	f.t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := errors.Join(s.Shutdown(), <-done); err != nil {
			f.t.Error(err)
		}
	})
	return l.Addr()
}

// download asks for a statement, with the token of the token file. The caller reads the body.
func download(t *testing.T, url string) *http.Response {
	t.Helper()
	return downloadAs(t, "operator", url)
}

func downloadAs(t *testing.T, token, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Body.Close() })
	return a
}

func downloaded(t *testing.T, url string) (status int, kind, body string) {
	t.Helper()
	a := download(t, url)
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, a.Header.Get("Content-Type"), string(b)
}

const csvKind = "text/csv; charset=utf-8; header=present"

// TestStatementSpan checks which bounds are read from the query, and which are refused.
func TestStatementSpan(t *testing.T) {
	b, url := exporting(t, 0)
	for query, want := range map[string]string{
		"": "0 0",

		"?from=&to=&format=&x=else":                          "0 0",
		"?from=2026-09-21":                                   "1789948800000 0",
		"?to=2026-09-21":                                     "0 1790035200000",
		"?from=2026-09-21&to=2026-09-21":                     "1789948800000 1790035200000",
		"?from=2026-09-21T14:13:20Z":                         "1790000000000 0",
		"?to=2026-09-21T11:13:20.5-03:00":                    "0 1790000000500",
		"?from=2026-09-21T14:13:20.0001Z":                    "1790000000001 0",
		"?to=2026-09-21T14:13:20.0001Z":                      "0 1790000000001",
		"?from=1960-01-01&to=1960-01-01":                     "0 1",
		"?from=2026-09-21T14:13:20Z&to=2026-09-21T14:13:20Z": "1790000000000 1790000000000",
		"?from=2026-09-21T14:13:20Z&to=2026-09-22":           "1790000000000 1790121600000",
		"?from=2026-09-21T14:13:20Z&to=2026-09-21":           "1790000000000 1790035200000",
		"?from=2026-09-21T23:59:59.999Z&to=2026-09-21":       "1790035199999 1790035200000",
	} {
		if status, _, body := downloaded(t, url+query); status != 200 || b.span != want {
			t.Errorf("%s: %d, bounds %s, want %s\n%s", query, status, b.span, want, body)
		}
	}
	for query, want := range map[string]string{
		"?from=yesterday":                "from must be a day",
		"?from=2026-02-30":               "from must be a day",
		"?to=5":                          "to must be a day",
		"?to=2026-09-21T14:13:20":        "to must be a day",
		"?from=2026-09-22&to=2026-09-21": "from must not be after to",
		"?from=2026-09-21T14:13:20.001Z&to=2026-09-21T14:13:20Z": "from must not be after to",
		"?from=2026-09-22T00:00:00Z&to=2026-09-21":               "from must not be after to",
		"?format=xml": "format must be csv or json",
		"?format=CSV": "format must be csv or json",
	} {
		if status, _, body := downloaded(t, url+query); status != 400 || !strings.HasPrefix(body, `{"error":{"status":400,"message":"`+want) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	other := url[:strings.Index(url, "acc_")] + "acc_x/statement"
	if status, _, body := downloaded(t, other); status != 404 || body != `{"error":{"status":404,"message":"no account \"acc_x\""}}` {
		t.Errorf("%d %s", status, body)
	}
}

// TestStatementContents checks statements in both forms, empty ones among them.
func TestStatementContents(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000, 1001, 2345} {
		b, url := exporting(t, uint64(n))
		status, kind, body := downloaded(t, url)
		want := []string{}
		for i := range n {
			want = append(want, string(httpapi.Item(ted(uint64(i+1)), nil)))
		}
		list := `{"data":[` + "\n" + strings.Join(want, ",\n") + "\n" + `],"next_cursor":null}`
		if n == 0 {
			list = `{"data":[],"next_cursor":null}`
		}
		if status != 200 || kind != "application/json" || body != list || !json.Valid([]byte(body)) {
			t.Errorf("%d movements: %d %s %.900s", n, status, kind, body)
		}
		status, kind, body = downloaded(t, url+"?format=csv")
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if status != 200 || kind != csvKind || err != nil || len(rows) != n+1 || !slices.Equal(rows[0], httpapi.Columns()) {
			t.Fatalf("%d movements: %d %s %v, %d rows", n, status, kind, err, len(rows))
		}
		for i, row := range rows[1:] {
			if !slices.Equal(row, httpapi.Cells(ted(uint64(i+1)), nil)) {
				t.Errorf("%d: %v", i, row)
			}
		}
		if strings.Count(body, "\r\n") != n+1 || strings.Count(body, "\n") != n+1 {
			t.Errorf("lines do not end in CR LF: %.300q", body)
		}
		if b.most.Load() > movementsAtOnce {
			t.Errorf("%d movements were read at once", b.most.Load())
		}
	}
}

// TestStatementOfMerchant sends the movements of real accounts, with banks' names and names
// that a spreadsheet would compute.
func TestStatementOfMerchant(t *testing.T) {
	f := newFixture(t)
	id, other := f.account(), f.account()
	for i, account := range []string{id, other, id} {
		f.now++
		body := fmt.Sprintf(`{"amount":%d,"type":"ted","description":"=HYPERLINK(\"x;y\")","payer_name":" @Ana","payer_document":"12345678909","reference":"r%d"}`, 10_000*(i+1), i)
		f.expect("POST", "/admin/accounts/"+account+"/credits", body, 201, `{"id":…`)
	}
	base := "http://" + f.serve().String() + "/admin/accounts/" + id + "/statement?format=csv"
	read := func(query string) [][]string {
		_, _, body := downloaded(t, base+query)
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows[1:]
	}
	column := func(name string) int { return slices.Index(httpapi.Columns(), name) }
	rows := read("")
	if len(rows) != 2 {
		t.Fatal(rows)
	}
	for i, want := range []string{"1.00", "3.00"} {
		r := rows[i]
		if r[column("movement_brl")] != want || r[column("description")] != `'=HYPERLINK("x;y")` || r[column("counterparty_name")] != "' @Ana" || r[column("counterparty_document")] != "12345678909" {
			t.Errorf("%q", r)
		}
	}
	first := rows[0][column("booked_at")]
	if got := read("&to=" + first); len(got) != 0 {
		t.Errorf("up to the first movement: %v", got)
	}
	if got := read("&from=" + rows[1][column("booked_at")]); len(got) != 1 {
		t.Errorf("from the second movement on: %v", got)
	}
	if got := read("&from=" + first[:10] + "&to=" + first[:10]); len(got) != 2 {
		t.Errorf("the day: %v", got)
	}
}
