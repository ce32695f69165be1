package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestOwnEndToEnd checks that an end-to-end id which merchants choose belongs to the first of
// them only, even if two choose it at once, and after a kill. A second payout of its owner
// under the id is sent, and the scheme rejects that payout with DUPL.
func TestOwnEndToEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	shops := [2]shop{p.shop(), p.shop()}
	body := func(n int) string {
		e2e := "E99999004" + time.Now().UTC().Format("200601021504") + fmt.Sprintf("%011d", n)
		return fmt.Sprintf(`{"amount":100,"end_to_end_id":%q,"pix_key":"settle-now@pix.test"}`, e2e)
	}
	const taken = `{"errors":{"bad_request":{"end_to_end_id":["end_to_end_id is used already"]}}}`
	ask := func(s shop, body string) (int, string) {
		status, got, err := s.ask(p.merchant, "/pix/cash-out", body, "")
		if err != nil {
			t.Error(err)
		}
		return status, string(got)
	}
	winner := map[string]int{}
	for n := range 20 {
		b := body(n)
		var got [2]int
		var work sync.WaitGroup
		for i, s := range shops {
			work.Go(func() {
				status, answer := ask(s, b)
				if got[i] = status; status == 400 && answer != taken {
					t.Error(answer)
				}
			})
		}
		work.Wait()
		if got != [2]int{200, 400} && got != [2]int{400, 200} {
			t.Errorf("id %d: %v", n, got)
		}
		if winner[b] = 0; got[1] == 200 {
			winner[b] = 1
		}
	}
	p.end(syscall.SIGKILL)
	p = start(t, dir)
	for b, w := range winner {
		if status, answer := ask(shops[1-w], b); status != 400 || answer != taken {
			t.Errorf("%d %s", status, answer)
		}
	}
	for b, w := range winner {
		status, answer := ask(shops[w], b)
		var tx struct {
			ID string `json:"transaction_id"`
		}
		if err := json.Unmarshal([]byte(answer), &tx); err != nil || status != 202 {
			t.Fatalf("%d %s", status, answer)
		}
		for range 200 {
			if answer = p.get("/admin/transactions/" + tx.ID); strings.Contains(answer, `"reason_code":"DUPL"`) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(answer, `"status":"rejected"`) || !strings.Contains(answer, `"reason_code":"DUPL"`) || strings.Contains(answer, `"duplicate_of":null`) {
			t.Errorf("%s", answer)
		}
		break
	}
}
