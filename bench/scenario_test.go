package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pixd/httpapi"
)

// madeUp is a session without an engine.
func madeUp(accounts, payments int) *session {
	s := &session{Options: &Options{}, tag: "btest", merchants: make([]merchant, accounts), payments: make([]payment, payments)}
	for i := range s.merchants {
		m := &s.merchants[i]
		m.id, m.clientID, m.secret = fmt.Sprint("acc_", i), fmt.Sprint("cli_", i), fmt.Sprint("sk_", i)
		m.heads("127.0.0.1:8080")
	}
	for i := range s.payments {
		s.payments[i].endToEnd = fmt.Sprintf("E999990032026112300%013d", i)
	}
	return s
}

// TestScenariosAreFair checks that every account meets each kind of a scenario in its share,
// whatever the number of accounts.
func TestScenariosAreFair(t *testing.T) {
	t.Parallel()
	for _, of := range Scenarios() {
		want := map[kind]int{}
		for _, k := range of.pattern {
			want[k]++
		}
		for _, accounts := range []int{1, 7, 20, 1000} {
			turns := 5 * len(of.pattern)
			got := make([]map[kind]int, accounts)
			for i := range accounts * turns {
				k, a := of.of(i, accounts)
				if got[a] == nil {
					got[a] = map[kind]int{}
				}
				got[a][k]++
			}
			for a, kinds := range got {
				for k, n := range want {
					if kinds[k] != 5*n {
						t.Fatalf("%s, %d accounts: account %d has %v, want 5 times %v", of.Name, accounts, a, kinds, want)
					}
				}
			}
		}
	}
	share := map[kind]int{}
	for _, k := range mixed {
		share[k]++
	}
	if len(mixed) != 20 || share[balance] != 8 || share[cashOut] != 5 || share[cashIn] != 4 || share[statement] != 2 || share[refund] != 1 {
		t.Errorf("mixed is not what its description says: %v", share)
	}
	if _, err := FindScenario("cash"); err == nil || !strings.Contains(err.Error(), "balance, cash-in, cash-out, refund, statement, mixed") {
		t.Error(err)
	}
}

// TestRequests checks each kind of request: that it is one HTTP request, from the account whose
// turn it is, with the body's signature, whether that was made before the load or during it, and
// that no two payouts of an account are the same.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, of := range Scenarios() {
		s := madeUp(3, 6)
		w := &work{session: s, scenario: of, tag: "btest-1-"}
		w.prepare(t.Context(), 2000)
		seen := map[string]bool{}
		for i := range 4000 {
			k, account := of.of(i, 3)
			m := &s.merchants[account]
			in := bufio.NewReader(bytes.NewReader(w.Request([]byte{}, i)))
			r, err := http.ReadRequest(in)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || in.Buffered() > 0 || r.URL.Path != "/api/external"+paths[k] || r.Header.Get("Authorization") != "ApiKey "+m.clientID+":"+m.secret {
				t.Fatalf("%s %v %s", r.URL, r.Header, body)
			}
			if !k.writes() {
				if r.Method != http.MethodGet || len(body) > 0 {
					t.Fatal(r.Method, body)
				}
				continue
			}
			want, err := httpapi.Sign([]byte(m.secret), body, false)
			form, bad := httpapi.Canonical(body)
			if err != nil || bad != nil || !bytes.Equal(form, body) || r.Header.Get("Hmac") != want || r.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%s %s: %v %v", r.Header, body, err, bad)
			}
			if !bytes.Contains(body, fmt.Appendf(nil, `{"amount":%d,`, centavos(k, i, 6))) {
				t.Fatalf("request %d: %s", i, body)
			}
			if k == refund && !bytes.Contains(body, []byte(s.payments[i%6].endToEnd)) || k == refund && (i%6)%3 != account {
				t.Fatalf("request %d of account %d: %s", i, account, body)
			}
			if same := fmt.Sprint(account, string(body)); k == cashOut && seen[same] {
				t.Fatalf("twice: %s", body)
			} else if seen[same] = true; k == cashOut && !bytes.Contains(body, []byte(`"pix_key":"btest-1-`)) {
				t.Fatalf("%s", body)
			}
		}
		if late := w.late.Load(); of.Name == "cash-out" && late != 2000 || of.Name == "balance" && late != 0 {
			t.Errorf("%s: %d signed during the load", of.Name, late)
		}
	}
}

// TestAnswersAreKept checks what the audit is told of answers.
func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	of, _ := FindScenario("cash-out")
	w := &work{session: madeUp(2, 0), scenario: of}
	w.Answer(3, 202, []byte(`{"worked":true,"transaction_id":"PIXOUTAGRALWBQ7LRXKJZ5MQZV","amount":10300}`))
	w.Answer(4, 200, []byte(`{"worked":true}`))
	w.Answer(5, 0, nil)
	w.Answer(6, 500, []byte("x"))
	for _, refused := range []int{400, 401, 422, 429, 503} {
		w.Answer(7, refused, []byte(`{"transaction_id":"PIXOUTAGRALWBQ7LRXKJZ5MQZV"}`))
	}
	var a Audit
	told, unknown := w.byAccount(&a)
	one := told[1]["PIXOUTAGRALWBQ7LRXKJZ5MQZV"]
	if one == nil || one.amount != 10_300 || one.status != 202 || one.kind != cashOut || len(told[0]) != 0 || len(told[1]) != 1 {
		t.Errorf("told %v", told)
	}
	if a.Answers != 1 || a.Unknown != 2 || len(unknown[0]) != 1 || len(unknown[1]) != 1 || a.Found != 1 || !strings.Contains(a.Differences[0], "acc_0: a /pix/cash-out was answered 200 without a transaction_id") {
		t.Errorf("%+v, unknown %v", a, unknown)
	}
	w.Answer(13, 202, []byte(`{"transaction_id":"PIXOUTAGRALWBQ7LRXKJZ5MQZV"}`))
	a = Audit{}
	if w.byAccount(&a); a.Found != 2 || !strings.Contains(strings.Join(a.Differences, "\n"), "acc_1: PIXOUTAGRALWBQ7LRXKJZ5MQZV was given to two requests") {
		t.Errorf("%+v", a)
	}
	reads, _ := FindScenario("balance")
	r := &work{session: madeUp(1, 0), scenario: reads}
	r.Answer(0, 0, nil)
	r.Answer(1, 200, []byte(`{"balance":1}`))
	a = Audit{}
	if _, unknown := r.byAccount(&a); a.Answers+a.Unknown+len(unknown[0]) != 0 {
		t.Errorf("reads are audited: %+v", a)
	}
	for body, want := range map[string]string{
		`{"transaction_id":"A"}`: "A", `{"transaction_id":""}`: "", `{"transaction_id":"` + strings.Repeat("A", 27) + `"}`: "", `{"transaction_id":"A`: "", `{}`: "",
	} {
		if id, ok := transactionID([]byte(body)); ok != (want != "") || ok && id.String() != want {
			t.Errorf("%s: %v %v", body, id, ok)
		}
	}
}
