package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fasthttp/router"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/httpapi"
	simapi "pixd/httpapi/sim"
	"pixd/wal"
)

const schemeWord = "a secret of at least thirty-two bytes"

// otherSide is a provider outside the engine, which is called over the scheme protocol. It
// gives the answers that a test sets, and keeps no book.
type otherSide struct {
	scheme.Unassigned
	t      *testing.T
	url    string
	secret provider.Secret
	answer atomic.Pointer[scheme.State] // the answer to every submission and question
	// instead, if set, serves every request in place of this provider.
	instead atomic.Pointer[fasthttp.RequestHandler]
}

func newOtherSide(t *testing.T) *otherSide {
	t.Helper()
	secret, err := provider.NewSecret(schemeWord)
	if err != nil {
		t.Fatal(err)
	}
	o := &otherSide{t: t, secret: secret}
	o.says(scheme.State{Progress: scheme.Pending})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.url = "http://" + l.Addr().String()
	r, log := router.New(), slog.New(slog.DiscardHandler)
	simapi.Provide(r, o, provider.NewGuard(secret, provider.ToScheme, now, nil), log)
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if serve := o.instead.Load(); serve != nil {
			(*serve)(ctx)
			return
		}
		r.Handler(ctx)
	}}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_ = server.ShutdownWithContext(ctx)
	})
	return o
}

func (o *otherSide) says(s scheme.State) { o.answer.Store(&s) }

// RegisterKey implements scheme.Scheme.
func (o *otherSide) RegisterKey(context.Context, pix.Key, pix.AccountID) error { return nil }

// Lookup implements scheme.Scheme.
func (o *otherSide) Lookup(context.Context, scheme.Query) (pix.Party, error) {
	return pix.Party{Name: "Ana", Document: "98765432100", ISPB: "99999005"}, nil
}

// Submit implements scheme.Scheme.
func (o *otherSide) Submit(context.Context, scheme.Payment) (scheme.State, error) {
	return *o.answer.Load(), nil
}

// Return implements scheme.Scheme.
func (o *otherSide) Return(context.Context, scheme.Refund) (scheme.State, error) {
	return *o.answer.Load(), nil
}

// Ask implements scheme.Scheme.
func (o *otherSide) Ask(context.Context, pix.TxID, string) (scheme.State, error) {
	return *o.answer.Load(), nil
}

// beside sets an engine's configuration so that it uses this provider.
func (o *otherSide) beside(c *Config) {
	c.Scheme, c.SchemeSecret, c.SchemeTimeout = o.url, schemeWord, 2*time.Second
}

// notify sends a notice to the engine under a new message id, and calls then immediately
// after the acknowledgement.
func (o *otherSide) notify(w *harness, n scheme.Notice, then func()) {
	o.t.Helper()
	if err := o.tell(w, n, then); err != nil {
		o.t.Errorf("%v of %v is not acknowledged: %v", n.Kind, n.Tx, err)
	}
}

// tell sends a notice as notify does. It returns the reason for which the notice is not
// acknowledged.
func (o *otherSide) tell(w *harness, n scheme.Notice, then func()) error {
	tell, err := provider.NewNotifier(provider.Options{
		URL: "http://" + w.AdminAddr.String(), Secret: o.secret, Now: now, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer tell.Close()
	done := make(chan error, 1)
	tell.Take(n, func(err error) {
		if err == nil && then != nil {
			then()
		}
		done <- err
	})
	return <-done
}

// another makes one more merchant of the same engine.
func (w *harness) another() *harness {
	m := &harness{Served: w.Served, t: w.t, stop: w.stop}
	m.setUp()
	return m
}

// at returns the same merchant at an engine that was started again.
func (w *harness) at(again *harness) *harness {
	return &harness{Served: again.Served, t: w.t, ID: w.ID, Key: w.Key, Sec: w.Sec, EVP: w.EVP, stop: again.stop}
}

// item holds those fields of a payout, as a merchant sees it, that these tests need.
type item struct {
	ID            string
	TransactionID string `json:"transaction_id"`
	EndToEnd      string `json:"end_to_end_id"`
	Status        string
	Reason        *string `json:"reason_code"`
	DuplicateOf   *string `json:"duplicate_of"`
	Returned      *int64  `json:"returned_amount"`
}

func (i *item) tx() pix.TxID { id, _ := pix.ParseTxID(i.ID); return id }

// cashOut posts a payout as the merchant.
func (w *harness) cashOut(body string) (int, string) {
	w.t.Helper()
	mac, err := httpapi.Sign([]byte(w.Sec), []byte(body), false)
	if err != nil {
		w.t.Fatal(err)
	}
	status, got, _ := w.send("POST", "http://"+w.MerchantAddr.String()+"/api/external/pix/cash-out", body,
		"Authorization", "ApiKey "+w.Key+":"+w.Sec, "hmac", mac, "Content-Type", "application/json")
	return status, got
}

// paidOut posts a payout that must be accepted, and returns the payout as a lookup shows it.
func (w *harness) paidOut(body string) item {
	w.t.Helper()
	status, got := w.cashOut(body)
	var taken item
	if status != 200 && status != 202 || json.Unmarshal([]byte(got), &taken) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return w.found(taken.TransactionID)
}

func (w *harness) found(id string) (i item) {
	w.t.Helper()
	status, got, _ := w.send("GET", "http://"+w.MerchantAddr.String()+"/api/external/transactions/"+id, "", "Authorization", "ApiKey "+w.Key+":"+w.Sec)
	if status != 200 || json.Unmarshal([]byte(got), &i) != nil || !strings.Contains(got, `"duplicate_of":`) {
		w.t.Fatalf("%d %s", status, got)
	}
	return i
}

// becoming waits until a payout has the given status.
func (w *harness) becoming(id, status string) (i item) {
	w.t.Helper()
	w.becomes(status, soon, func() bool { i = w.found(id); return i.Status == status })
	return i
}

// money returns the answer to the merchant's request for its balance.
func (w *harness) money() string {
	w.t.Helper()
	status, got := w.balance()
	if status != 200 {
		w.t.Fatalf("%d %s", status, got)
	}
	return got
}

// alerts returns the number of alerts of a kind about one payout, and the number of alerts of
// that kind about other payouts.
func (w *harness) alerts(kind, transaction string) (about, others int) {
	w.t.Helper()
	var l struct {
		Data []struct {
			Kind        string
			Account     string `json:"account_id"`
			Transaction string `json:"transaction_id"`
		}
	}
	status, got := w.operate("GET", "/admin/alerts?limit=100", "")
	if status != 200 || json.Unmarshal([]byte(got), &l) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	for _, a := range l.Data {
		w.leadsTo(a.Kind, a.Transaction)
		switch {
		case a.Kind == kind && a.Account == w.ID && a.Transaction == transaction:
			about++
		case a.Kind == kind:
			others++
		}
	}
	return about, others
}

// after returns the disk that a power cut at this moment would leave: without unsynced data.
func after(disk *vfs.MemFS) wal.FS { return disk.CrashClone(vfs.CrashCloneCfg{}) }
