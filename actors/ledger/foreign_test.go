package ledger

import (
	"testing"

	"pixd/actors/layout"
)

// TestForeignEndToEnd checks that an end-to-end id which another account has used, as its own or with the
// same last 11 characters, is refused before anything else, and that nothing is held.
func TestForeignEndToEnd(t *testing.T) {
	for name, key := range map[string][]byte{"the id": layout.EndToEndKey(endToEnd("x")), "its suffix": layout.SuffixKey(endToEnd("x")[21:])} {
		h := newHarness(t)
		h.open(DefaultSettings(), 100)
		h.rows[string(key)] = layout.EndToEndRow{Account: testAccount + 1, Seq: 1}.Encode()
		d := h.step(RequestPayout{Amount: 1_000, Key: emailKey(t, "a@b.com"), EndToEnd: endToEnd("x")})
		if d.Refusal == nil || d.Refusal.Code != RefuseEndToEnd || d.Refusal.Field != "end_to_end_id" || len(d.Records) != 0 {
			t.Errorf("%s: %+v and %d records", name, d.Refusal, len(d.Records))
		}
	}
}
