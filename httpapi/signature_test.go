package httpapi

import (
	"errors"
	"strings"
	"testing"
)

// The signatures in this file were computed with Python's hmac and hashlib.
const (
	signingSecret = "sk_live_0123456789abcdef"

	canonicalBody = `{"amount":1000,"description":"Devolução PIX","external_id":"a/b"}`
	canonicalSig  = "f3a4a3e905c736710f2be970e8caa7bd35f6385a69cecc3e88f580ac7a3ef0575e034254cf3be94a481eb2651aa80e4ca744da7ac4930e69a3341f560ffaf723"

	phpBody = `{"amount":1000,"description":"Devolu\u00e7\u00e3o PIX","external_id":"a\/b"}`
	phpSig  = "7c2b2a87db0d3d83cc3f694438e7fada46f23046ed272a097ed538c0c52d4c2e092171c8ed0808324fd51fc3748a49809779fe5a053437c98c83598941fbbf28"

	pythonBody = `{"amount": 1000, "description": "Devolu\u00e7\u00e3o PIX", "external_id": "a/b"}`
	pythonSig  = "3e010ffccc00c08cf4ec9f513222eae205d00616502604f101d390c2c1bddd630b075289a49c4c68793751919db0908ccd049d46898a7e4d61c990a4a85fc047"

	unsortedBody = `{"external_id":"a/b","amount":1000,"description":"Devolução PIX"}`
	unsortedSig  = "d135c102c5993e5d115316440768c6bdfaa3bc3fc95e0f2ebeb856d47d46508f0c8c764889361ff04c7884ab0f11bfe0ee20ad15efbe16cdfa9c3aed56bfbcaf"
)

func TestVerifySignature(t *testing.T) {
	for name, v := range map[string]struct {
		body, header string
		camel        bool
		want         sigResult
	}{
		"canonical":                           {canonicalBody, canonicalSig, false, sigValid},
		"canonical, camelCase":                {canonicalBody, canonicalSig, true, sigValid},
		"PHP's raw body":                      {phpBody, phpSig, false, sigValid},
		"PHP's raw body, canonical signed":    {phpBody, canonicalSig, false, sigValid},
		"Python's raw body":                   {pythonBody, pythonSig, false, sigValid},
		"Python's raw body, canonical signed": {pythonBody, canonicalSig, false, sigValid},
		"unsorted, canonical signed":          {unsortedBody, canonicalSig, false, sigValid},
		"unsorted signed unsorted":            {unsortedBody, unsortedSig, false, sigMismatch},
		"unsorted signed unsorted, camelCase": {unsortedBody, unsortedSig, true, sigValid},
		"unsorted, canonical, camelCase":      {unsortedBody, canonicalSig, true, sigValid},
		"another body's":                      {canonicalBody, phpSig, false, sigMismatch},
		"another body's, camelCase":           {canonicalBody, phpSig, true, sigMismatch},
		"white space behind":                  {canonicalBody + "\n", canonicalSig, false, sigValid},
		"one number changed":                  {strings.Replace(canonicalBody, "1000", "1001", 1), canonicalSig, false, sigMismatch},
		"one number spelled differently":      {strings.Replace(canonicalBody, "1000", "1000.0", 1), canonicalSig, false, sigMismatch},
		"upper-case hex":                      {canonicalBody, strings.ToUpper(canonicalSig), false, sigMismatch},
		"one digit upper-case":                {canonicalBody, "F" + canonicalSig[1:], false, sigMismatch},
		"too short":                           {canonicalBody, canonicalSig[:126], false, sigMismatch},
		"too long":                            {canonicalBody, canonicalSig + "00", false, sigMismatch},
		"with a space":                        {canonicalBody, " " + canonicalSig[1:], false, sigMismatch},
		"last digit wrong":                    {canonicalBody, canonicalSig[:127] + "4", false, sigMismatch},
		"no hex":                              {canonicalBody, strings.Repeat("g", 128), false, sigMismatch},
		"no header":                           {"", "", false, sigMissingHeader},
		"empty body":                          {"", "x", false, sigEmptyBody},
		"white space for a body":              {" ", "x", false, sigUnusableBody},
		"unusable comes before a mismatch":    {"[]", "x", false, sigUnusableBody},
		"twice, camelCase":                    {`{"a":1,"a":2}`, "x", true, sigUnusableBody},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := new(canonicaliser).verify([]byte(signingSecret), []byte(v.body), v.header, v.camel, nil)
			var bad *Unusable
			if got != v.want || errors.As(err, &bad) != (got == sigUnusableBody) {
				t.Errorf("%d, %v; want %d", got, err, v.want)
			}
		})
	}
	if got, _ := new(canonicaliser).verify(nil, nil, "", false, nil); got != sigMissingHeader {
		t.Errorf("without anything: %d", got)
	}
	if got, _ := new(canonicaliser).verify(nil, nil, "x", false, nil); got != sigNoSecret {
		t.Errorf("without a secret: %d", got)
	}
}

func TestSign(t *testing.T) {
	for body, want := range map[string][2]string{ // the signature without camelCase, and with it
		canonicalBody: {canonicalSig, canonicalSig},
		phpBody:       {canonicalSig, phpSig},
		pythonBody:    {canonicalSig, pythonSig},
		unsortedBody:  {canonicalSig, unsortedSig},
	} {
		for i, camel := range []bool{false, true} {
			if got, err := Sign([]byte(signingSecret), []byte(body), camel); err != nil || got != want[i] {
				t.Errorf("%s: %s, %v", body, got, err)
			}
		}
	}
	var bad *Unusable
	if _, err := Sign([]byte("s"), []byte("[]"), true); !errors.As(err, &bad) {
		t.Errorf("unusable: %v", err)
	}
	if _, err := Sign(nil, []byte("{}"), false); !errors.Is(err, ErrNoSecret) {
		t.Errorf("no secret: %v", err)
	}
}

func BenchmarkVerifySignature(b *testing.B) {
	secret := []byte(signingSecret)
	for name, body := range map[string]string{"canonical": payoutBody, "unsorted": looseBody} {
		header, _ := Sign(secret, []byte(body), false)
		b.Run(name, func(b *testing.B) {
			raw, c := []byte(body), new(canonicaliser)
			b.ReportAllocs()
			for b.Loop() {
				if got, _ := c.verify(secret, raw, header, false, nil); got != sigValid {
					b.Fatal(got)
				}
			}
		})
	}
}
