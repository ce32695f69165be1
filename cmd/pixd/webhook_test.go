package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pixd/httpapi/admin"
)

const (
	deadDelivery = `{"id":"dlv_dead","account_id":"acc_a","webhook_id":"whk_1","event_id":"evt_1","type":"pix.received","sequence":7,"status":"dead",` +
		`"created_at":"2026-11-22T10:00:00.500Z","next_attempt_at":null,"attempts":[` +
		`{"at":"2026-11-22T10:00:01.000Z","status_code":503,"error":null,"duration_ms":12},` +
		`{"at":"2026-11-22T10:05:01.000Z","status_code":null,"error":"dial tcp: \u001b[31mrefused","duration_ms":3}]}`
	deliveredDelivery = `{"id":"dlv_delivered","account_id":"acc_b","webhook_id":"whk_2","event_id":"evt_2","type":"pix.payout.confirmed","sequence":8,"status":"delivered",` +
		`"created_at":"2026-11-22T11:00:00.000Z","next_attempt_at":null,"attempts":[{"at":"2026-11-22T11:00:01.000Z","status_code":204,"error":null,"duration_ms":1}]}`
	pendingDelivery = `{"id":"dlv_pending","account_id":"acc_a","webhook_id":"whk_1","event_id":"evt_3","type":"pix.completed","sequence":9,"status":"pending",` +
		`"created_at":"2026-11-22T12:00:00.000Z","next_attempt_at":"2026-11-22T12:00:05.250Z","attempts":[]}`
	activeWebhook  = `{"id":"whk_1","account_id":"acc_a","url":"https://loja.example/` + longPath + `","events":["pix.received","pix.completed"],"active":true,"removed":false,"created_at":"2026-11-01T00:00:00.000Z","pending":2,"dead":1}`
	stoppedWebhook = `{"id":"whk_2","account_id":"acc_b","url":"https://b.example","events":["pix.refund.failed"],"active":false,"removed":false,"created_at":"2026-11-02T00:00:00.000Z","pending":0,"dead":0}`
	removedWebhook = `{"id":"whk_3","account_id":"acc_b","url":"https://c.example","events":["pix.refund.failed"],"active":false,"removed":true,"created_at":"2026-11-03T00:00:00.000Z","pending":0,"dead":13}`
	longPath       = "a/path/that/is/far/too/long/for/the/column/of/a/table"
)

// webhookAPI is the part of an operator API that is about webhooks.
type webhookAPI struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func openWebhookAPI(t *testing.T) *webhookAPI {
	t.Helper()
	a := &webhookAPI{}
	a.Server = httptest.NewServer(http.HandlerFunc(a.answer))
	t.Cleanup(a.Close)
	return a
}

func (a *webhookAPI) answer(w http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q.Method+" "+q.URL.RequestURI())
	body, _ := io.ReadAll(q.Body)
	if q.Header.Get("Authorization") != "Bearer "+token || len(body) > 0 && q.Method != http.MethodPatch {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch q.Method + " " + q.URL.EscapedPath() {
	case "GET /admin/webhooks":
		paged(w, q.URL.Query(), "account_id", activeWebhook, stoppedWebhook, removedWebhook)
	case "GET /admin/webhook-deliveries":
		paged(w, q.URL.Query(), "account_id webhook_id status", deadDelivery, deliveredDelivery, pendingDelivery)
	case "GET /admin/webhook-deliveries/dlv_dead":
		fmt.Fprint(w, deadDelivery)
	case "GET /admin/webhook-deliveries/dlv_pending":
		fmt.Fprint(w, pendingDelivery)
	case "POST /admin/webhook-deliveries/dlv_dead/retry":
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, strings.Replace(strings.Replace(deadDelivery, `"dead"`, `"pending"`, 1), "null", `"2026-11-22T13:00:00.000Z"`, 1))
	case "PATCH /admin/webhooks/whk_1":
		fmt.Fprint(w, strings.Replace(activeWebhook, `"active":true`, strings.Trim(string(body), "{}\n"), 1))
	case "POST /admin/webhooks/whk_1/retry":
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"webhook_id":"whk_1","retried":3}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"status":404,"message":"no delivery \"dlv_x\""}}`)
	}
}

// paged answers a list in pages of at most two entries: those that have the values of the
// parameters given.
func paged(w http.ResponseWriter, q url.Values, parameters string, all ...string) {
	for _, name := range strings.Fields(parameters) {
		if q.Has(name) {
			all = slices.DeleteFunc(slices.Clone(all), func(one string) bool {
				return !strings.Contains(one, strconv.Quote(name)+":"+strconv.Quote(q.Get(name)))
			})
		}
	}
	from, _ := strconv.Atoi(q.Get("cursor"))
	size := 2
	if n, err := strconv.Atoi(q.Get("limit")); err == nil {
		size = min(n, size)
	}
	next := "null"
	if from+size < len(all) {
		next = strconv.Quote(strconv.Itoa(from + size))
	}
	fmt.Fprintf(w, `{"data":[%s],"next_cursor":%s}`, strings.Join(all[from:min(from+size, len(all))], ","), next)
}

// TestListLeavesOut checks that a list says how many entries it leaves out, of all its pages, in JSON too.
func TestListLeavesOut(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Query().Get("cursor") == "" {
			fmt.Fprintf(w, `{"data":[%s],"next_cursor":"1","damaged":2}`, activeWebhook)
			return
		}
		fmt.Fprintf(w, `{"data":[%s],"next_cursor":null,"damaged":1}`, stoppedWebhook)
	}))
	t.Cleanup(s.Close)
	code, out, errs := asks(t, s.URL, "webhook", "list")
	if want := "\nleft out: 3, whose records are damaged; pixd audit, or pixd journal verify of the stopped engine, names them\n"; code != 0 || errs != "" || !strings.HasSuffix(out, want) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, _ := asks(t, s.URL, "webhook", "list", "--json"); code != 0 || !strings.HasSuffix(out, `"next_cursor":null,"damaged":3}`+"\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestResumeAllBesideDamage checks that it does not end well where cases are left out of the list, which may wait.
func TestResumeAllBesideDamage(t *testing.T) {
	t.Parallel()
	s := answering(t, 200, `{"data":[],"next_cursor":null,"damaged":3}`)
	code, out, errs := asks(t, s.URL, "med", "resume", "--all", "--operator", "ana")
	if want := "pixd: 3 cases are left out, which may wait: their records are damaged\n"; code != 1 || errs != want || !strings.Contains(out, "left out: 3") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// newest returns the last request, without a limit.
func (a *webhookAPI) newest() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.ReplaceAll(a.asked[len(a.asked)-1], "limit=200", "")
}

// shows runs a command, which must succeed, and returns its output.
func (a *webhookAPI) shows(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := asks(t, a.URL, append([]string{"webhook"}, args...)...)
	if code != 0 || errs != "" {
		t.Fatalf("pixd webhook %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// TestWebhookLists checks the tables of deliveries and subscriptions over several pages, one
// page, and each filter.
func TestWebhookLists(t *testing.T) {
	t.Parallel()
	a := openWebhookAPI(t)
	const head = "DELIVERY       ACCOUNT  SUBSCRIPTION  TYPE                  STATUS     CREATED               NEXT ATTEMPT          ATTEMPTS  LAST RESULT\n"
	same(t, a.shows(t, "list"), head+
		`dlv_dead       acc_a    whk_1         pix.received          dead       2026-11-22T10:00:00Z  –                            2  dial tcp: \x1b[31mrefused
dlv_delivered  acc_b    whk_2         pix.payout.confirmed  delivered  2026-11-22T11:00:00Z  –                            1  204
dlv_pending    acc_a    whk_1         pix.completed         pending    2026-11-22T12:00:00Z  2026-11-22T12:00:05Z         0  –
`)
	if got := a.newest(); got != "GET /admin/webhook-deliveries?cursor=2&" {
		t.Error(got)
	}
	for args, want := range map[string]string{
		"--account acc_b": "dlv_delivered", "--webhook whk_2": "dlv_delivered", "--status pending": "dlv_pending", "--account acc_a --status dead": "dlv_dead",
	} {
		if got := a.shows(t, append([]string{"list"}, strings.Fields(args)...)...); strings.Count(got, "\n") != 2 || !strings.Contains(got, "\n"+want+" ") {
			t.Errorf("%s:\n%s", args, got)
		}
	}
	if got := a.shows(t, "list", "--account", "acc_a", "--webhook", "whk_1", "--limit", "1"); strings.Count(got, "dlv_") != 1 ||
		!strings.HasSuffix(got, "\n\nmore: pixd webhook list --account acc_a --webhook whk_1 --limit 1 --cursor 1\n") {
		t.Error(got)
	}
	if got := a.shows(t, "list", "--account", "acc_a", "--status", "delivered"); got != "no deliveries\n" {
		t.Error(got)
	}
	same(t, a.shows(t, "subscriptions"), `
SUBSCRIPTION  ACCOUNT  STATE    PENDING  DEAD  CREATED               URL                                                           EVENTS
whk_1         acc_a    active         2     1  2026-11-01T00:00:00Z  https://loja.example/a/path/that/is/far/too/long/for/the/co…  pix.received,pix.completed
whk_2         acc_b    stopped        0     0  2026-11-02T00:00:00Z  https://b.example                                             pix.refund.failed
whk_3         acc_b    removed        0    13  2026-11-03T00:00:00Z  https://c.example                                             pix.refund.failed
`)
	if got := a.shows(t, "subscriptions", "--account", "acc_b", "--limit", "1"); strings.Count(got, "whk_") != 1 ||
		!strings.HasSuffix(got, "\n\nmore: pixd webhook subscriptions --account acc_b --limit 1 --cursor 1\n") {
		t.Error(got)
	}
	if got := a.shows(t, "subscriptions", "--account", "acc_c"); got != "no subscriptions\n" {
		t.Error(got)
	}
}

// TestWebhookJSON checks that --json gives all that the API answered.
func TestWebhookJSON(t *testing.T) {
	t.Parallel()
	a := openWebhookAPI(t)
	for args, want := range map[string]string{
		"list":                  `{"data":[` + deadDelivery + "," + deliveredDelivery + "," + pendingDelivery + `],"next_cursor":null}`,
		"list --limit 1":        `{"data":[` + deadDelivery + `],"next_cursor":"1"}`,
		"subscriptions":         `{"data":[` + activeWebhook + "," + stoppedWebhook + "," + removedWebhook + `],"next_cursor":null}`,
		"show dlv_dead":         deadDelivery,
		"retry --webhook whk_1": `{"webhook_id":"whk_1","retried":3}`,
	} {
		got := a.shows(t, append(strings.Fields(args), "--json")...)
		var one, other any
		if err := json.Unmarshal([]byte(got), &one); err != nil {
			t.Errorf("%s: %v", got, err)
		}
		if err := json.Unmarshal([]byte(want), &other); err != nil || fmt.Sprint(one) != fmt.Sprint(other) || strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s:\n got %s\nwant %s", args, got, want)
		}
	}
}

// TestWebhookShow checks one delivery, and what retry does and shows.
func TestWebhookShow(t *testing.T) {
	t.Parallel()
	a := openWebhookAPI(t)
	begin := "\ndelivery dlv_dead\naccount acc_a\nsubscription whk_1\nevent evt_1\ntype pix.received\nsequence 7\n"
	end := "attempt 1 2026-11-22T10:00:01Z, 12 ms: 503\nattempt 2 2026-11-22T10:05:01Z, 3 ms: dial tcp: \\x1b[31mrefused\n"
	same(t, squeezed(a.shows(t, "show", "dlv_dead")), begin+"status dead\ncreated 2026-11-22T10:00:00Z\nnext attempt –\n"+end)
	same(t, squeezed(a.shows(t, "show", "dlv_pending")), strings.NewReplacer("dead", "pending", "evt_1", "evt_3", "received", "completed", "7", "9").Replace(begin)+
		"status pending\ncreated 2026-11-22T12:00:00Z\nnext attempt 2026-11-22T12:00:05Z\n")
	same(t, squeezed(a.shows(t, "retry", "dlv_dead")), begin+"status pending\ncreated 2026-11-22T10:00:00Z\nnext attempt 2026-11-22T13:00:00Z\n"+end)
	same(t, squeezed(a.shows(t, "retry", "--webhook", "whk_1")), "subscription whk_1\nretried 3\n")
	if got := a.newest(); got != "POST /admin/webhooks/whk_1/retry" {
		t.Error(got)
	}
	shown := func(state string) string {
		return "subscription whk_1\naccount acc_a\nstate " + state + "\nurl https://loja.example/" + longPath +
			"\nevents pix.received,pix.completed\npending 2\ndead 1\ncreated 2026-11-01T00:00:00Z\n"
	}
	same(t, squeezed(a.shows(t, "pause", "whk_1")), shown("stopped"))
	same(t, squeezed(a.shows(t, "resume", "whk_1")), shown("active"))
	for args, want := range map[string]string{
		"pause":                          "name the subscription, as `pixd webhook subscriptions` has it",
		"pause ..":                       `".." is no id`,
		"resume whk_x":                   `no delivery "dlv_x" (404)`,
		"show dlv_x":                     `no delivery "dlv_x" (404)`,
		"show a/b":                       `no delivery "dlv_x" (404)`,
		"show":                           "name the delivery, as `pixd webhook list` has it",
		"retry":                          "name the delivery, as `pixd webhook list` has it, or a subscription with --webhook",
		"retry a b":                      `"b" is one word too many`,
		"retry ..":                       `".." is no id`,
		"retry dlv_dead --webhook whk_1": "name a delivery or --webhook, not both",
		"retry --webhook=":               `--webhook: "" is no id`,
		"list x":                         `"x" is one word too many`,
		"subscriptions x":                `"x" is one word too many`,
	} {
		if code, out, errs := asks(t, a.URL, append([]string{"webhook"}, strings.Fields(args)...)...); code != 1 || out != "" || errs != "pixd: "+want+"\n" {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
	if got := a.asked; slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "/b") && !strings.Contains(s, "a%2Fb") }) {
		t.Errorf("an id was not escaped: %q", got)
	}
}

// TestWebhookResult checks the words for an attempt.
func TestWebhookResult(t *testing.T) {
	t.Parallel()
	code, why := 302, "a redirect"
	for want, a := range map[string]admin.Attempt{"302 a redirect": {Status: &code, Err: &why}, "302": {Status: &code}, "a redirect": {Err: &why}, "no answer": {}} {
		if got := attempted(&a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHeldDelivery checks that a delivery which waits for an operator says so, and a dead one why it is dead.
func TestHeldDelivery(t *testing.T) {
	t.Parallel()
	reason := "the subscription was stopped"
	held := admin.Delivery{ID: "dlv_a", Status: "pending", Held: true, CreatedAt: "2026-11-22T10:00:00.500Z"}
	if one, all := deliveryFacts(&held), deliveries([]admin.Delivery{held}); !strings.Contains(one, "none before pixd webhook retry") || !strings.Contains(all, "none before pixd webhook retry") || strings.Contains(one, "reason") {
		t.Errorf("%s%s", one, all)
	}
	if one := deliveryFacts(&admin.Delivery{ID: "dlv_b", Status: "dead", Reason: &reason}); !strings.Contains(one, reason) {
		t.Error(one)
	}
}
