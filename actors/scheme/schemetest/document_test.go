package schemetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fasthttp/router"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/docs/openapi"
	"pixd/docs/openapi/openapitest"
	"pixd/httpapi/control"
	simapi "pixd/httpapi/sim"
)

// document is the protocol's. All messages of the tests and their answers are held against it, but for
// groups, whose answers are read while they are being written.
var document *openapitest.Contract

// differences are between messages and the document. Answers may come after their test has ended.
var differences struct {
	sync.Mutex
	all []string
}

// held wraps one side of the protocol.
func held(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		h(ctx)
		if ctx.Response.IsBodyStream() || ctx.Hijacked() {
			return
		}
		if err := document.Check(openapitest.Of(string(ctx.RequestURI()), &ctx.Request, &ctx.Response)); err != nil {
			differences.Lock()
			differences.all = append(differences.all, err.Error())
			differences.Unlock()
		}
	}
}

// documented runs the tests, and fails if a message differs from the document, or if all tests together
// have not shown what it has.
func documented(run func() int) int {
	var err error
	if document, err = openapitest.New(openapi.Scheme.YAML); err != nil {
		panic(err)
	}
	code := run()
	differences.Lock()
	defer differences.Unlock()
	wrong := differences.all
	if openapitest.AllTests() {
		wrong = append(wrong, slices.DeleteFunc(document.Unseen(), rare)...)
	}
	if code == 0 && len(wrong) > 0 {
		fmt.Fprintln(os.Stderr, "differs from the document, or is not shown by a test:\n"+strings.Join(wrong[:min(len(wrong), 50)], "\n"))
		return 1
	}
	return code
}

// rare tells whether a part of the document is an answer of an older version, or one of a side that is
// busy, or the kind of a notice, which its other fields show.
func rare(part string) bool {
	for _, end := range []string{" 503", "/groups 404", "/returns/submit 422", ".kind"} {
		if strings.HasSuffix(part, end) {
			return true
		}
	}
	return false
}

func TestDocumentHasPaths(t *testing.T) {
	var want []string
	for _, path := range []string{
		provider.PathRegister, provider.PathDeregister, provider.PathLookup, provider.PathSubmit, provider.PathReturn, provider.PathReturned, provider.PathAsk,
		provider.PathMovements, provider.PathBook, provider.PathCapabilities, provider.PathGroup,
		provider.PathNotices, provider.PathNoticeCapabilities, provider.PathNoticeGroup,
	} {
		want = append(want, "POST "+path)
	}
	slices.Sort(want)
	if got := document.Operations(); !slices.Equal(got, want) {
		t.Errorf("the document has %q, not %q", got, want)
	}
}

// TestRefusedMessages sends each side messages that are not signed, and signed ones that cannot be read.
func TestRefusedMessages(t *testing.T) {
	s, _ := openSim(t, vfs.NewMem())
	r := router.New()
	control.Strict(r)
	simapi.Provide(r, s, provider.NewGuard(secret(t), provider.ToScheme, now, nil), quiet)
	sides := map[string]string{"/v1/": serve(t, r.Handler), "/scheme/": serve(t, noticeHandler(t, func(_ scheme.Notice, done func(error)) { done(nil) }))}
	for _, operation := range document.Operations() {
		_, path, _ := strings.Cut(operation, " ")
		base, direction := sides["/v1/"], provider.ToScheme
		if strings.HasPrefix(path, "/scheme/") {
			base, direction = sides["/scheme/"], provider.ToEngine
		}
		m := provider.Message{Direction: direction, Method: http.MethodPost, Path: path, ID: uuid.NewString(), Timestamp: now().String(), Body: []byte("{")}
		if strings.HasSuffix(path, "/capabilities") {
			m.Body = []byte("{}")
		} else if status, _ := tell(t, base, m, secret(t).Sign(m)); status != http.StatusBadRequest {
			t.Errorf("%s: %d to nonsense", path, status)
		}
		m.ID = uuid.NewString()
		if status, _ := tell(t, base, m, "v1=00"); status != http.StatusUnauthorized {
			t.Errorf("%s: %d without a signature", path, status)
		}
	}
}

// tell sends a message, and returns the answer.
func tell(t *testing.T, base string, m provider.Message, signature string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), m.Method, base+m.Path, bytes.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(provider.HeaderTimestamp, m.Timestamp)
	r.Header.Set(provider.HeaderMessageID, m.ID)
	r.Header.Set(provider.HeaderSignature, signature)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestEveryNotice tells notices of all kinds, with all fields, each twice under one id.
func TestEveryNotice(t *testing.T) {
	base := serve(t, noticeHandler(t, func(_ scheme.Notice, done func(error)) { done(nil) }))
	const tx = `"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E9999900420261029120000000000001"`
	for _, notice := range []string{
		`{"kind":"payment_arrived","end_to_end_id":"E9999900320261029120000000000002","account_id":"acc_7wlwlb76tauiu","arrived":{"amount":1,"pix_key":"a@b.com","txid":"T","description":"d","payer":{"name":"A","document":"12345678909","ispb":"99999003"},"paid_at":"2026-10-29T12:00:00.000Z"}}`,
		`{"kind":"payment_arrived","end_to_end_id":"E9999900320261029120000000000002","arrived":{"amount":1}}`,
		`{"kind":"payment_settled",` + tx + `}`, `{"kind":"return_settled",` + tx + `}`,
		`{"kind":"payment_rejected",` + tx + `,"reason":"AC03"}`, `{"kind":"return_rejected",` + tx + `,"reason":"DT05"}`,
		`{"kind":"return_received",` + tx + `,"return_id":"D9999900520261029121000000000001","amount":4,"reason":"MD06"}`,
		`{"kind":"infraction_opened","end_to_end_id":"E9999900320261029120000000000002","infraction_id":"i-1","amount":4,"situation":"SCAM"}`,
		`{"kind":"infraction_cancelled","end_to_end_id":"E9999900320261029120000000000002","infraction_id":"i-1"}`,
	} {
		m := provider.Message{Direction: provider.ToEngine, Method: http.MethodPost, Path: provider.PathNotices, ID: uuid.NewString(), Timestamp: now().String(), Body: []byte(notice)}
		for _, want := range []string{"{}", `{"known":true}`} {
			if status, body := tell(t, base, m, secret(t).Sign(m)); status != http.StatusOK || strings.TrimSpace(body) != want {
				t.Errorf("%s: %d %s, not %s", notice, status, body, want)
			}
		}
	}
}
