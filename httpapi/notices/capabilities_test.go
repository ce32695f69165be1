package notices

import (
	"strings"
	"testing"

	"pixd/actors/scheme/provider"
)

// TestNoticeCapabilities checks that the scheme learns that notices may come in groups.
func TestNoticeCapabilities(t *testing.T) {
	w := newHarness(t)
	m := provider.Message{Direction: provider.ToEngine, Method: "POST", Path: provider.PathNoticeCapabilities, Timestamp: noon.String(), ID: "c", Body: []byte("{}")}
	ctx := w.send(m, w.secret.Sign(m))
	if ctx.Response.StatusCode() != 200 || !strings.Contains(string(ctx.Response.Body()), `"groups":256`) {
		t.Errorf("%d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
}
