package provider

import (
	"errors"
	"fmt"
	"testing"

	"pixd/actors/scheme"
)

// TestOnlyUnknownKeyIsForGood checks that a payment is given back only where the engine says
// with 422 that the key is nobody's, and that its notice is sent again after any other answer.
func TestOnlyUnknownKeyIsForGood(t *testing.T) {
	for _, c := range []struct {
		status int
		answer string
		good   bool
	}{
		{422, `{"refusal":"unknown_key"}`, true},
		{422, `{"refusal":"unknown_key","since":1}`, true},
		{422, `{"refusal":"provider_rejected"}`, false},
		{422, `{"refusal":""}`, false},
		{422, `{}`, false},
		{422, `unknown_key`, false},
		{422, ``, false},
		{400, `{"refusal":"unknown_key"}`, false},
		{503, `{"refusal":"unknown_key"}`, false},
	} {
		err := refusalOf(c.status, []byte(c.answer))
		if err == nil || errors.Is(err, scheme.ErrNoPayee) != c.good {
			t.Errorf("%d %s: %v", c.status, c.answer, err)
		}
		if want := fmt.Sprintf("answer %d", c.status); !c.good && err != nil && err.Error()[:len(want)] != want {
			t.Errorf("%d %s: %v", c.status, c.answer, err)
		}
	}
}
