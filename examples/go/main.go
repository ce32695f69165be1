// The command tour makes a charge, a payout and a refund with the package pixd, pages the statement, and receives and
// verifies the webhooks of all of them. The exit code is 0 only if everything went as it should.
//
//	go run .      (the variables that it reads are in ../README.md)
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"merchant/pixd"
)

var (
	admin = cmp.Or(os.Getenv("PIXD_ADMIN"), "http://127.0.0.1:8081")
	hook  = cmp.Or(os.Getenv("PIXD_HOOK"), "127.0.0.1:9098")
	run   = rand.Text()[:12] // makes the names of this run new ones
)

// receiver takes webhooks.
type receiver struct {
	secret string                           // known once the subscription is made
	mu     sync.Mutex                       // guards what follows
	seen   map[string]bool                  // ids of events; a real receiver keeps them in its database
	came   map[string]chan pixd.RefundEvent // by kind and transaction. A RefundEvent has the fields of any payment's event
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 1<<20))
	var event pixd.RefundEvent
	if err != nil || pixd.Verify(r.secret, q.Header, body, time.Now()) != nil || json.Unmarshal(body, &event) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	again := r.seen[event.ID]
	r.seen[event.ID] = true
	r.mu.Unlock()
	if !again {
		r.of(event.Type, event.Data.TransactionID) <- event
	}
	w.WriteHeader(http.StatusNoContent)
}

// of returns where the events of a kind about a transaction are found.
func (r *receiver) of(kind, transaction string) chan pixd.RefundEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.came[kind+transaction] == nil {
		r.came[kind+transaction] = make(chan pixd.RefundEvent, 1)
	}
	return r.came[kind+transaction]
}

func (r *receiver) await(kind, transaction string) pixd.RefundEvent {
	select {
	case event := <-r.of(kind, transaction):
		return event
	case <-time.After(20 * time.Second):
		log.Fatalf("%s did not come for %s", kind, transaction)
	}
	panic("not reached")
}

func must(holds bool, what string) {
	if !holds {
		log.Fatal("not so: ", what)
	}
}

func good[T any](value T, err error) T {
	must(err == nil, fmt.Sprint(err))
	return value
}

// payAsCustomer pays a charge in the simulator: a sandbox has this, and a merchant's program does not.
func payAsCustomer(qrCode string) {
	r := good(http.NewRequest("POST", admin+"/sim/payments", bytes.NewReader(good(json.Marshal(map[string]string{"qr_code": qrCode})))))
	r.Header.Set("Authorization", "Bearer "+os.Getenv("PIXD_ADMIN_TOKEN"))
	r.Header.Set("Content-Type", "application/json")
	a := good(http.DefaultClient.Do(r))
	must(a.StatusCode == http.StatusCreated, "the customer pays: "+a.Status)
	must(a.Body.Close() == nil, "the answer ends")
}

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := &pixd.Client{URL: cmp.Or(os.Getenv("PIXD_URL"), "http://127.0.0.1:8080"), ClientID: os.Getenv("PIXD_CLIENT_ID"), ClientSecret: os.Getenv("PIXD_CLIENT_SECRET")}
	must(c.ClientID != "" && c.ClientSecret != "", "PIXD_CLIENT_ID and PIXD_CLIENT_SECRET are set (../README.md)")

	w := good(c.CreateWebhook(ctx, pixd.WebhookRequest{URL: "http://" + hook + "/", Events: pixd.EventKinds{pixd.PixChargePaid, pixd.PixPayoutConfirmed, pixd.PixRefundCompleted}}))
	r := &receiver{secret: w.Secret, seen: map[string]bool{}, came: map[string]chan pixd.RefundEvent{}}
	go func() { log.Fatal(http.ListenAndServe(hook, r)) }()
	fmt.Println("subscribed", w.ID)
	forged := http.Header{"Webhook-Id": {"evt_x"}, "Webhook-Timestamp": {fmt.Sprint(time.Now().Unix())}, "Webhook-Signature": {"v1,Zm9yZ2Vk"}}
	must(pixd.Verify(w.Secret, forged, []byte("{}"), time.Now()) != nil, "a forged webhook is refused")

	charge, _, err := c.CreateCharge(ctx, pixd.ChargeRequest{Amount: 2500, Description: "2 cafés <já> ☕", ExternalID: "order-" + run}, "charge-"+run)
	must(err == nil, fmt.Sprint(err))
	payAsCustomer(charge.QrCode)
	paid := r.await("pix.charge.paid", charge.TransactionID).Data
	must(paid.Status == "completed" && paid.Amount == 250000, "the charge is completed")
	fmt.Println("charge paid", paid.TransactionID, paid.Amount)

	order := pixd.PayoutRequest{Amount: 1000, PixKey: "supplier+" + run + "@example.com", ExternalID: "bill-" + run}
	payout, _, err := c.CreatePayout(ctx, order, "payout-"+run)
	must(err == nil, fmt.Sprint(err))
	again, answer, err := c.CreatePayout(ctx, order, "payout-"+run)
	must(err == nil && again == payout && answer.Replayed, "the repeat pays nothing")
	r.await("pix.payout.confirmed", payout.TransactionID)
	fmt.Println("payout settled", payout.TransactionID, payout.Amount)

	var moved []string
	for page, last := 1, false; !last; page++ {
		p := good(c.ReadStatement(ctx, page, 5))
		for _, t := range p.Data {
			moved = append(moved, t.TransactionID)
		}
		last = len(p.Data) < 5
	}
	must(slices.Contains(moved, charge.TransactionID) && slices.Contains(moved, payout.TransactionID), "both are in the statement")
	fmt.Println("statement read", len(moved), "movements")

	part := int64(500)
	refund, _, err := c.CreateRefund(ctx, pixd.RefundRequest{OriginalTransactionID: charge.TransactionID, Amount: &part}, "refund-"+run)
	must(err == nil, fmt.Sprint(err))
	given := r.await("pix.refund.completed", refund.TransactionID).Data
	must(given.Status == "settled" && given.RemainingRefundable == 200000, "the refund settles")
	fmt.Println("refund settled", refund.TransactionID, refund.Amount)
	must(c.RemoveWebhook(ctx, w.ID) == nil, "the subscription ends")
}
