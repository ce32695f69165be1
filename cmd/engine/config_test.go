package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSettings checks the bounds of settings that are numbers, times or words: the first and last value that is allowed,
// and the one beside it, which is refused by the name of its flag. What --scheme-listen and its files need is tested
// where the command's flags are.
func TestSettings(t *testing.T) {
	const ms, day = time.Millisecond, 24 * time.Hour
	retries := func(n int, each time.Duration) []time.Duration { return slices.Repeat([]time.Duration{each}, n) }
	for n, c := range []struct {
		change func(c *Config)
		says   string // how the refusal begins; empty: the setting is allowed
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.DataDir = "" }, "--data-dir is empty"},
		{func(c *Config) { c.ISPB = "1234567" }, `--ispb "1234567": 8 digits`},
		{func(c *Config) { c.SettleDelay = 0 }, ""},
		{func(c *Config) { c.SettleDelay = -1 }, "--sim-settle-delay -1ns: 0 or longer"},
		{func(c *Config) { c.SchemeTimeout = 1 }, ""},
		{func(c *Config) { c.SchemeTimeout = 0 }, "--scheme-timeout 0s: longer than 0"},
		{func(c *Config) { c.OrphanAfter = ms }, ""},
		{func(c *Config) { c.OrphanAfter = ms - 1 }, "--orphan-after 999.999µs: 1ms or longer"},
		{func(c *Config) { c.QueueRetry = 100 * ms }, ""},
		{func(c *Config) { c.QueueRetry = 100*ms - 1 }, "--queue-retry 99.999999ms: 100ms or longer"},
		{func(c *Config) { c.QueueTTL = ms }, ""},
		{func(c *Config) { c.QueueTTL = ms - 1 }, "--queue-ttl 999.999µs: 1ms or longer"},
		{func(c *Config) { c.ApprovalTTL = ms }, ""},
		{func(c *Config) { c.ApprovalTTL = ms - 1 }, "--approval-ttl 999.999µs: 1ms or longer"},
		{func(c *Config) { c.RateLimit = 0 }, ""},
		{func(c *Config) { c.RateLimit = -1 }, "--rate-limit -1: 0 (none) or more"},
		{func(c *Config) { c.FailedAuthLimit = 0 }, ""},
		{func(c *Config) { c.FailedAuthLimit = -1 }, "--failed-auth-limit -1: 0 (none) or more"},
		{func(c *Config) { c.ConnectionsPerIP = 0 }, ""},
		{func(c *Config) { c.ConnectionsPerIP = -1 }, "--connections-per-ip -1: 0 (no limit) or more"},
		{func(c *Config) { c.ApprovalBy = 2 }, ""},
		{func(c *Config) { c.ApprovalBy = 0 }, "--approval-by 0: 1 or 2"},
		{func(c *Config) { c.ApprovalBy = 3 }, "--approval-by 3: 1 or 2"},
		{func(c *Config) { c.MEDSilence = "wait" }, ""},
		{func(c *Config) { c.MEDSilence = "" }, `--med-silence "": agree or wait`},
		{func(c *Config) { c.MEDDeadline = ms }, ""},
		{func(c *Config) { c.MEDDeadline = ms - 1 }, "--med-deadline 999.999µs: 1ms or longer"},
		{func(c *Config) { c.MEDAnalysis = ms }, ""},
		{func(c *Config) { c.MEDAnalysis = ms - 1 }, "--med-analysis 999.999µs: 1ms or longer"},
		{func(c *Config) { c.WebhookTimeout = ms }, ""},
		{func(c *Config) { c.WebhookTimeout = ms - 1 }, "--webhook-timeout 999.999µs: 1ms or longer"},
		{func(c *Config) { c.WebhookRetries = nil }, ""},
		{func(c *Config) { c.WebhookRetries = retries(100, 30*day) }, ""},
		{func(c *Config) { c.WebhookRetries = retries(101, ms) }, "--webhook-retries: 101 waits, at most 100"},
		{func(c *Config) { c.WebhookRetries = retries(1, ms) }, ""},
		{func(c *Config) { c.WebhookRetries = append(retries(1, ms), ms-1) }, "--webhook-retries [1ms 999.999µs]: each from 1ms to 720h0m0s"},
		{func(c *Config) { c.WebhookRetries = retries(1, 30*day+1) }, "--webhook-retries [720h0m0.000000001s]: each from"},
		{func(c *Config) { c.SnapshotEvery = time.Second }, ""},
		{func(c *Config) { c.SnapshotEvery = time.Second - 1 }, "--snapshot-every 999.999999ms: 0 (none) or 1s and longer"},
		{func(c *Config) { c.SnapshotEvery = 0 }, ""},
		{func(c *Config) { c.SnapshotEvery = -1 }, "--snapshot-every -1ns: 0 (none) or 1s and longer"},
		{func(c *Config) { c.SnapshotFull = 1 }, ""},
		{func(c *Config) { c.SnapshotFull = 0 }, "--snapshot-full 0: 1 (each) or more"},
		{func(c *Config) { c.SnapshotKeep = 0 }, ""},
		{func(c *Config) { c.SnapshotKeep = -1 }, "--snapshot-keep -1: 0 (all) or more"},
		{func(c *Config) { c.ISPB = "123456789" }, `--ispb "123456789": 8 digits`},
		{func(c *Config) { c.ISPB = "1234567A" }, ""},
		{func(c *Config) { c.ISPB = "1234567a" }, `--ispb "1234567a": 8 digits`},
		{func(c *Config) { c.AdminToken = "sixteen-letters-" }, ""},
		{func(c *Config) { c.AdminToken = "fifteen-letters" }, "PIXD_ADMIN_TOKEN: "},
		{func(c *Config) { c.Scheme = "nowhere" }, "--scheme: "},
		{func(c *Config) {
			c.Scheme, c.SchemeSecret, c.SchemeListen = "http://127.0.0.1", "0123456789abcdef0123456789abcdef", "127.0.0.1:0"
			c.SchemeTLS.Cert = "cert.pem"
		}, "--scheme-tls-cert and --scheme-tls-key go together"},
		{func(c *Config) { c.TLS.Cert = "cert.pem" }, "--tls-cert and --tls-key go together"},
		{func(c *Config) { c.AdminTLS.Cert = "cert.pem" }, "--admin-tls-cert and --admin-tls-key go together"},
	} {
		s := Defaults()
		c.change(&s)
		if got := s.Check(); (got == nil) != (c.says == "") || got != nil && !strings.HasPrefix(got.Error(), c.says) {
			t.Errorf("row %d: %v, want %q", n, fmt.Sprint(got), c.says)
		}
	}
}
