package admin

import (
	"regexp"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/control"
)

type alertView struct {
	ID            string  `json:"id"`
	Kind          string  `json:"kind"`
	AccountID     *string `json:"account_id"`
	TransactionID *string `json:"transaction_id"`
	Message       string  `json:"message"`
	CreatedAt     string  `json:"created_at"`
}

// alertCursor is the form of the cursors of the list of alerts: part of an alert's key.
var alertCursor = regexp.MustCompile("^[0-9]{13}/alr_[a-z2-7]{1,64}$")

// listAlerts is GET /admin/alerts?since=&order=&cursor=&limit=.
func (s *service) listAlerts(ctx *fasthttp.RequestCtx) (int, any, error) {
	q := ctx.QueryArgs()
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	var since pix.Millis
	if text := string(q.Peek("since")); text != "" {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return 0, nil, control.Bad("since must be an ISO 8601 time, such as 2026-01-31T12:00:00Z")
		}
		since = pix.Millis(t.UnixMilli())
	}
	order := string(q.Peek("order"))
	if order != "" && order != "oldest" && order != "newest" {
		return 0, nil, control.Bad("order must be oldest or newest: which comes first")
	}
	after := string(q.Peek("cursor"))
	if after != "" && !alertCursor.MatchString(after) {
		return 0, nil, control.Bad("cursor must be a next_cursor of this list")
	}
	all, next, err := s.Alerts(since, order == "newest", after, limit)
	if err != nil {
		return 0, nil, err
	}
	l := control.List{Data: make([]any, len(all))}
	for i, a := range all {
		l.Data[i] = alertView{a.ID, a.Kind, orNull(a.Account), orNull(a.Transaction), a.Message, a.At.String()}
	}
	l.Next = orNull(next)
	return fasthttp.StatusOK, l, nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
