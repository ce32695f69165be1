package console

import "testing"

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
