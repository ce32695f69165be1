package pixd

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config generate.yaml -o types.gen.go ../../../docs/openapi/merchant.yaml

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Client calls the merchant API with one API key. Several goroutines may use it.
type Client struct {
	URL          string // such as http://127.0.0.1:8080
	ClientID     string // cli_…
	ClientSecret string // sk_…
	HTTP         *http.Client
}

// Answer is what the API answered beside the body. Replayed: it is the answer of an earlier request with the same
// Idempotency-Key.
type Answer struct {
	Status   int
	Replayed bool
}

// Error is an answer other than 2xx. Body has one of the forms BadRequestError, DetailError, NotFoundError, PayoutError,
// PermissionError, PixKeyError, StatusError and UnprocessableError.
type Error struct {
	Status     int
	Body       []byte
	RetryAfter string // seconds; empty: not said
}

func (e *Error) Error() string { return fmt.Sprintf("pixd: %d %s", e.Status, e.Body) }

// CreateCharge makes a charge with its QR code.
func (c *Client) CreateCharge(ctx context.Context, r ChargeRequest, idempotencyKey string) (charge Charge, a Answer, err error) {
	a, err = c.Do(ctx, http.MethodPost, "/pix/cash-in", r, idempotencyKey, &charge)
	return charge, a, err
}

// CreatePayout pays to a PIX key. Of a queued payout, PayoutStatus is "queued".
func (c *Client) CreatePayout(ctx context.Context, r PayoutRequest, idempotencyKey string) (payout Payout, a Answer, err error) {
	a, err = c.Do(ctx, http.MethodPost, "/pix/cash-out", r, idempotencyKey, &payout)
	return payout, a, err
}

// CreateRefund gives a received payment back.
func (c *Client) CreateRefund(ctx context.Context, r RefundRequest, idempotencyKey string) (refund Refund, a Answer, err error) {
	a, err = c.Do(ctx, http.MethodPost, "/pix/refund", r, idempotencyKey, &refund)
	return refund, a, err
}

// ReadTransaction returns a transaction by its id or transaction_id.
func (c *Client) ReadTransaction(ctx context.Context, id string) (t TransactionAnswer, err error) {
	_, err = c.Do(ctx, http.MethodGet, "/transactions/"+url.PathEscape(id), nil, "", &t)
	return t, err
}

// ReadStatement returns a page of the statement. The last page has fewer than perPage movements.
func (c *Client) ReadStatement(ctx context.Context, page, perPage int) (p TransactionPage, err error) {
	query := url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(perPage)}}
	_, err = c.Do(ctx, http.MethodGet, "/statement?"+query.Encode(), nil, "", &p)
	return p, err
}

// CreateWebhook subscribes a URL to events.
func (c *Client) CreateWebhook(ctx context.Context, r WebhookRequest) (w NewWebhook, err error) {
	_, err = c.Do(ctx, http.MethodPost, "/webhooks", r, "", &w)
	return w, err
}

// RemoveWebhook ends a subscription.
func (c *Client) RemoveWebhook(ctx context.Context, id string) error {
	_, err := c.Do(ctx, http.MethodDelete, "/webhooks/"+url.PathEscape(id), nil, "", nil)
	return err
}

// Do makes any call: path is what follows /api/external, fields the body of a POST or PATCH, and answer what the body of
// the answer is stored in. Both may be nil. The error is an *Error where there was an answer.
func (c *Client) Do(ctx context.Context, method, path string, fields any, idempotencyKey string, answer any) (Answer, error) {
	r, err := c.request(ctx, method, path, fields, idempotencyKey)
	if err != nil {
		return Answer{}, err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	got, err := client.Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return Answer{}, err
	}
	if got.StatusCode/100 != 2 {
		return Answer{}, &Error{Status: got.StatusCode, Body: body, RetryAfter: got.Header.Get("Retry-After")}
	}
	a := Answer{Status: got.StatusCode, Replayed: got.Header.Get("X-Idempotent-Replay") == "true"}
	if answer == nil {
		return a, nil
	}
	return a, json.Unmarshal(body, answer)
}

func (c *Client) request(ctx context.Context, method, path string, fields any, idempotencyKey string) (*http.Request, error) {
	var body []byte
	var err error
	if method == http.MethodPost || method == http.MethodPatch {
		if body, err = canonical(fields); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+"/api/external"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "ApiKey "+c.ClientID+":"+c.ClientSecret)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("hmac", Sign(c.ClientSecret, body)) // of the very bytes that are sent
	}
	if idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", idempotencyKey)
	}
	return r, nil
}
