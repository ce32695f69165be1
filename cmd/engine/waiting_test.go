package engine

import (
	"reflect"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/httpapi"
)

// TestTerms checks that Config.terms takes each of the service's own terms from the right
// setting.
func TestTerms(t *testing.T) {
	c := Config{ISPB: "12345678", OrphanAfter: time.Minute, QueueRetry: 2 * time.Second, QueueTTL: 3 * time.Minute, ApprovalTTL: 4 * time.Minute}
	if got := c.terms([]byte("s")); !reflect.DeepEqual(got, ledger.Terms{Secret: []byte("s"), OwnISPB: "12345678", OrphanAfter: 60_000, QueueTTL: 180_000, ApprovalTTL: 240_000}) {
		t.Errorf("%+v", got)
	}
	if got := c.renderer(); got != (httpapi.Renderer{Queueing: httpapi.Queueing{Retry: 2 * time.Second, TTL: 3 * time.Minute}}) {
		t.Errorf("%+v", got)
	}
}
