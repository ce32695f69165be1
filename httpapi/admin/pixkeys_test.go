package admin

import (
	"testing"

	"pixd/actors/registry"
)

// TestKeysOfAnAccount checks that an account's list has its keys in their order, and neither a
// key that was removed since the account was read nor one that another account has by now.
func TestKeysOfAnAccount(t *testing.T) {
	known := map[string]*registry.PixKey{
		"b": {Key: "b", Account: 1}, "moved": {Key: "moved", Account: 2}, "a": {Key: "a", Account: 1}, "new": {Key: "new", Account: 1},
	}
	a := &registry.Account{ID: 1, PixKeys: []string{"b", "moved", "removed", "a"}}
	got := ""
	for _, k := range keysOf(a, func(key string) (*registry.PixKey, bool) { k, ok := known[key]; return k, ok }) {
		got += k.Key
	}
	if got != "ba" {
		t.Errorf("the keys are %q", got)
	}
}
