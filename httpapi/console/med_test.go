package console

import (
	"slices"
	"testing"
)

// TestItself checks what is said to happen to a case by itself.
func TestItself(t *testing.T) {
	agreed, disagreed := new("AGREED"), new("DISAGREED")
	for want, those := range map[string][]specialReturn{
		"itself_awaits":  {{Status: "open", Awaits: true}, {Status: "closed", Result: agreed, Amount: 5, Awaits: true}},
		"itself_agrees":  {{Status: "open", Amount: 5, Held: 5}},
		"itself_alerts":  {{Status: "defended", Amount: 5, Held: 5}},
		"itself_failed":  {{Status: "closed", Result: agreed, Amount: 5, Held: 5, Failed: true}},
		"itself_refunds": {{Status: "closed", Result: agreed, Amount: 5, Held: 2, Refunded: 3}},
		"itself_rest":    {{Status: "closed", Result: agreed, Amount: 5, Refunded: 3}},
		"itself_nothing": {{Status: "closed", Result: agreed, Amount: 5, Refunded: 5}, {Status: "closed", Result: disagreed, Amount: 5}, {Status: "cancelled", Amount: 5}},
	} {
		for _, k := range those {
			if got := k.Itself(false); got != want {
				t.Errorf("%+v: %s, want %s", k, got, want)
			}
		}
	}
	k := specialReturn{Status: "open", Amount: 5, Held: 5}
	if got := k.Itself(true); got != "itself_waits" {
		t.Errorf("where silence leaves it to the analyst: %s", got)
	}
}

// TestDeskOfAccount checks that the desk asks for the cases of an account alone, on each of its pages.
func TestDeskOfAccount(t *testing.T) {
	f := newFixture(t)
	var asked []string
	f.api = func(_, path string, _ []byte) (int, string) {
		if asked = append(asked, path); len(asked) == 1 {
			return 200, `{"data":[{"id":"med_a","status":"closed"}],"next_cursor":"7"}`
		}
		return 200, `{"data":[{"id":"med_b","status":"closed"}],"next_cursor":null}`
	}
	f.says(f.send("GET", "/console/med?status=closed&account_id=acc_x", f.login(veraToken), ""), 200, "med_a", "med_b", `name="account_id" value="acc_x"`)
	if want := []string{"/admin/med?account_id=acc_x&limit=200&status=closed", "/admin/med?account_id=acc_x&cursor=7&limit=200&status=closed"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q\nwant %q", asked, want)
	}
}
