package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pixd/cmd/operator"
)

// sampler reads from an engine's /metrics its processor time and memory, and how long its
// journal's syncs took.
type sampler struct {
	client *http.Client
	url    string
	token  string
}

// sample is what an engine has used until an instant.
type sample struct {
	at     time.Time
	cpu    float64 // seconds
	memory uint64  // resident bytes
	syncs  syncTimes
}

// since returns the seconds of processor time that were used after the sample before. Where they
// are fewer than at that sample, the engine has been started again, and they count from its start.
func (s sample) since(before sample) float64 {
	if s.cpu < before.cpu {
		return s.cpu
	}
	return s.cpu - before.cpu
}

// sampleTimeout is how long an answer of /metrics may take.
const sampleTimeout = 5 * time.Second

// newSampler returns a sampler, or an error if the engine has no metrics of its process.
func newSampler(ctx context.Context, o *operator.Client) (sampler, error) {
	s := sampler{url: o.Base + "/metrics", token: o.Token, client: &http.Client{Timeout: sampleTimeout}}
	if o.HTTP != nil {
		s.client.Transport = o.HTTP.Transport
	}
	_, err := s.take(ctx)
	return s, err
}

func (s *sampler) take(ctx context.Context) (sample, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return sample{}, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	a, err := s.client.Do(r)
	if err != nil {
		return sample{}, fmt.Errorf("metrics: %w", err)
	}
	defer func() { _ = a.Body.Close() }()
	return readSample(a.Body)
}

// readSample finds the process's figures among the metrics.
func readSample(body io.Reader) (sample, error) {
	at := sample{at: time.Now()}
	p := expfmt.NewTextParser(model.LegacyValidation)
	all, err := p.TextToMetricFamilies(body)
	if err != nil {
		return at, fmt.Errorf("metrics: %w", err)
	}
	cpu, memory := all["process_cpu_seconds_total"], all["process_resident_memory_bytes"]
	if cpu == nil || memory == nil || len(cpu.Metric) == 0 || len(memory.Metric) == 0 {
		return at, fmt.Errorf("metrics: no processor time and memory of the process among them")
	}
	at.syncs = readSyncs(all["pixd_journal_sync_seconds"])
	at.cpu, at.memory = cpu.Metric[0].GetCounter().GetValue(), uint64(memory.Metric[0].GetGauge().GetValue())
	return at, nil
}
