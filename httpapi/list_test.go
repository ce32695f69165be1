package httpapi

import (
	"strings"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

const (
	statementPath    = base + "/statement"
	transactionsPath = base + "/transactions"
)

// TestListParameters checks what the parameters of the two lists ask for.
func TestListParameters(t *testing.T) {
	day := func(y, m, d int) pix.Millis {
		return pix.Millis(time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).UnixMilli())
	}
	type filter = layout.Filter
	type page = layout.Page
	for _, v := range []struct {
		query    string
		filter   filter
		page     page
		external string
	}{
		{"", filter{}, page{Number: 1, Size: 20}, ""},
		{"?page=3&per_page=7", filter{}, page{Number: 3, Size: 7}, ""},
		{"?per_page=101", filter{}, page{Number: 1, Size: 100}, ""},
		{"?per_page=99999999999999999999999", filter{}, page{Number: 1, Size: 100}, ""},
		{"?status=settled", filter{Status: layout.FilterSettled}, page{Number: 1, Size: 20}, ""},
		{"?status=rejected", filter{Status: layout.FilterRejected}, page{Number: 1, Size: 20}, ""},
		{"?status=failed", filter{Status: layout.FilterFailed}, page{Number: 1, Size: 20}, ""},
		{"?status=processing", filter{Status: layout.FilterProcessing}, page{Number: 1, Size: 20}, ""},
		{"?type=pix", filter{Type: layout.FilterPIX}, page{Number: 1, Size: 20}, ""},
		{"?type=ted", filter{Type: layout.FilterTED}, page{Number: 1, Size: 20}, ""},
		{"?type=internal", filter{Type: layout.FilterInternal}, page{Number: 1, Size: 20}, ""},
		{"?date_from=2026-03-01&date_to=2026-03-01", filter{From: day(2026, 3, 1), Until: day(2026, 3, 2)}, page{Number: 1, Size: 20}, ""},
		{"?date_to=2024-02-29", filter{Until: day(2024, 3, 1)}, page{Number: 1, Size: 20}, ""},
		{"?date_from=1970-01-01", filter{From: 1}, page{Number: 1, Size: 20}, ""},
		{"?unknown=1&PER_PAGE=3", filter{}, page{Number: 1, Size: 20}, ""},
	} {
		f := newFixture(t)
		f.madeUp = len(v.query) > 25 && v.page.Size == 100 // no document's integer is so large
		for _, path := range []string{statementPath, transactionsPath} {
			f.expect(sent{method: "GET", path: path + v.query}, 200, `{"worked":true,"data":[],"page":…`)
			if l := f.lists; l.account != merchant || l.filter != v.filter || l.page != v.page || l.text != v.external || !strings.HasSuffix(path, l.asked) {
				t.Errorf("%s%s asked %+v", path, v.query, l)
			}
		}
	}
	f := newFixture(t)
	f.expect(sent{method: "GET", path: transactionsPath + "?status=active&direction=inbound&external_id=a%20b%2F%00%C3%A7"}, 200, `{"worked":true,"data":[],"page":1,"per_page":20}`)
	if l := f.lists; l.filter != (filter{Status: layout.FilterActive, Direction: layout.FilterInbound}) || l.text != "a b/\x00ç" {
		t.Errorf("asked %+v", l)
	}
	for name, cased := range map[string]func(sent) sent{"original_transaction_id": func(r sent) sent { return r }, "originalTransactionId": camelCased} {
		f.lists.filter = filter{}
		f.expect(cased(sent{method: "GET", path: transactionsPath + "?" + name + "=PIXIN7"}), 200, `{"worked":true,"data":[],"page":1,…`)
		if l := f.lists; l.filter != (filter{Original: "PIXIN7"}) {
			t.Errorf("%s asked %+v", name, l)
		}
		if g := f.send(cased(sent{method: "GET", path: transactionsPath + "?" + name + "="})); g.status != 400 || !strings.Contains(g.body, `"`+name+`":["`) {
			t.Errorf("an empty %s: %d %s", name, g.status, g.body)
		}
	}
	f.expect(camelCased(sent{method: "GET", path: transactionsPath + "?direction=outbound&externalId=o-1&perPage=2&dateFrom=2026-01-02"}), 200, `{"worked":true,"data":[],"page":1,"perPage":2}`)
	if l := f.lists; l.filter != (filter{Direction: layout.FilterOutbound, From: day(2026, 1, 2)}) || l.text != "o-1" || l.page.Size != 2 {
		t.Errorf("asked %+v", l)
	}
}

// TestBadListParameters checks that each fault is a 400 that names the parameter, and that no
// list is read.
func TestBadListParameters(t *testing.T) {
	f := newFixture(t)
	for query, want := range map[string]string{
		"page=0":                       `page: page must be a positive integer`,
		"page=-1":                      `page: page must be a positive integer`,
		"page=":                        `page: page must be a positive integer`,
		"page=1.5":                     `page: page must be a positive integer`,
		"page=9223372036854775808":     `page: page must be a positive integer`,
		"per_page=0":                   `per_page: per_page must be a positive integer`,
		"per_page=ten":                 `per_page: per_page must be a positive integer`,
		"status=done":                  `status: status must be settled, rejected, failed or processing`,
		"status=":                      `status: status must be settled, rejected, failed or processing`,
		"status=Settled":               `status: status must be settled, rejected, failed or processing`,
		"status=active":                `status: status must be settled, rejected, failed or processing`,
		"type=PIX":                     `type: type must be pix, ted or internal`,
		"date_from=2026-2-1":           `date_from: date_from must be a day as YYYY-MM-DD`,
		"date_from=2026-02-30":         `date_from: date_from must be a day as YYYY-MM-DD`,
		"date_to=2026-02-01T00:00:00Z": `date_to: date_to must be a day as YYYY-MM-DD`,
		"date_to=":                     `date_to: date_to must be a day as YYYY-MM-DD`,
		"date_from=2026-02-02&date_to=2026-02-01": `date_from: date_from must not be after date_to`,
		"page=1&page=1":                    `page: page is given twice`,
		"type=pix&status=settled&type=pix": `type: type is given twice`,
	} {
		for _, path := range []string{statementPath, transactionsPath} {
			if path == transactionsPath {
				want = strings.Replace(want, "failed or processing", "failed, processing or active", 1)
				if query == "status=active" {
					continue
				}
			}
			field, fault, _ := strings.Cut(want, ": ")
			f.expect(sent{method: "GET", path: path + "?" + query}, 400, `{"worked":false,"errors":{"bad_request":{"`+field+`":["`+fault+`"]}}}`)
		}
	}
	for query, fault := range map[string]string{
		"external_id=":                 `"external_id":["external_id must not be empty"]`,
		"direction=in":                 `"direction":["direction must be inbound or outbound"]`,
		"external_id=a&external_id=a":  `"external_id":["external_id is given twice"]`,
		"direction=inbound&direction=": `"direction":["direction is given twice"]`,
	} {
		f.expect(sent{method: "GET", path: transactionsPath + "?" + query}, 400, `{"worked":false,"errors":{"bad_request":{`+fault+`}}}`)
	}
	f.expect(camelCased(sent{method: "GET", path: transactionsPath + "?per_page=2&perPage=2"}), 400, `{"worked":false,"errors":{"badRequest":{"perPage":["perPage is given twice"]}}}`)
	if f.lists.requests > 0 {
		t.Errorf("%d lists were read", f.lists.requests)
	}
}
