package engine

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/actors/strictjson"
	"pixd/wal"
)

// journalSyncs returns the number of syncs of the engine's journal so far.
func (w *harness) journalSyncs() uint64 {
	w.t.Helper()
	var m dto.Metric
	if err := w.writes.Syncs.(prometheus.Metric).Write(&m); err != nil {
		w.t.Fatal(err)
	}
	return m.Histogram.GetSampleCount()
}

// tellTogether sends notices to the engine in one group, and returns how many of them it
// acknowledged.
func (o *otherSide) tellTogether(w *harness, all []scheme.Notice) (acknowledged int) {
	o.t.Helper()
	var body bytes.Buffer
	for _, n := range all {
		told, err := strictjson.Encode(provider.TellNotice(n))
		if err != nil {
			o.t.Fatal(err)
		}
		fmt.Fprintf(&body, "%s %s %s\n", uuid.NewString(), provider.PathNotices, told)
	}
	m := provider.Message{
		Direction: provider.ToEngine, Method: http.MethodPost, Path: provider.PathNoticeGroup, ID: uuid.NewString(), Timestamp: now().String(), Body: body.Bytes(),
	}
	status, answer, _ := w.send(m.Method, "http://"+w.AdminAddr.String()+m.Path, body.String(),
		provider.HeaderTimestamp, m.Timestamp, provider.HeaderMessageID, m.ID, provider.HeaderSignature, o.secret.Sign(m))
	if status != 200 {
		o.t.Fatalf("%d %s", status, answer)
	}
	for line := range strings.Lines(answer) {
		if f := strings.SplitN(line, " ", 5); len(f) == 5 && f[1] == "200" && f[4] == "{}\n" {
			acknowledged++
		}
	}
	return acknowledged
}

// TestGroupOfNoticesIsOneSync checks that the outcomes of 60 payouts, and 60 payments of customers,
// cost the journal a few syncs where they arrive in one group, not one each, and that each is booked:
// what has come while one sync lasts is in the next.
func TestGroupOfNoticesIsOneSync(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	var slow atomic.Bool
	fs := wal.BeforeSync(func() {
		if slow.Load() {
			time.Sleep(50 * time.Millisecond)
		}
	})
	w := newHarness(t, fs, o.beside, func(c *Config) { c.DataDir = t.TempDir() })
	var settled, arrived []scheme.Notice
	var paid []item
	for i := range 60 {
		p := w.paidOut(fmt.Sprintf(`{"amount":%d,"pix_key":"a@pix.test"}`, 100+i))
		paid = append(paid, p)
		settled = append(settled, scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.tx(), EndToEnd: p.EndToEnd})
		id := fmt.Sprintf("E6070119020260301120%012d", i)
		arrived = append(arrived, scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: id, Arrived: ledger.ReceivePayment{EndToEnd: id, Amount: 700, Key: w.EVP}})
	}
	slow.Store(true)
	for name, group := range map[string][]scheme.Notice{"outcomes": settled, "arrivals": arrived} {
		before := w.journalSyncs()
		if n := o.tellTogether(w, group); n != len(group) {
			t.Errorf("%s: %d of %d acknowledged", name, n, len(group))
		}
		if syncs := w.journalSyncs() - before; syncs > 4 || syncs == 0 {
			t.Errorf("%s: %d syncs", name, syncs)
		}
	}
	slow.Store(false)
	for _, p := range paid {
		if got := w.found(p.TransactionID); got.Status != "settled" {
			t.Errorf("%+v", got)
		}
	}
}
