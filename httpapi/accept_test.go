package httpapi

import "testing"

func TestPrefersPDF(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                                     true,
		"application/pdf":                      true,
		"Application/PDF":                      true,
		" application/pdf ; q=0.5 , text/html": true,
		"application/pdf, */*":                 true,
		"*/*, application/pdf":                 true,
		"text/html, application/pdf;q=0.9, application/json;q=0.8": true,
		"application/pdf, application/json":                        true,
		"application/pdf;version=1;q=1":                            true,
		"application/pdf;q=x":                                      true,

		"*/*":                                           false,
		"application/*":                                 false,
		"application/json":                              false,
		"application/json, application/pdf":             false,
		"application/pdf;q=0":                           false,
		"application/pdf;q=0, */*;q=0":                  false,
		"application/pdf;q=0.5, */*":                    false,
		"application/pdf;Q=0.5, application/json;q=0.6": false,
		"application/pdfx":                              false,
		"text/html":                                     false,
	} {
		var headers [][]byte
		if accept == "" {
			headers, accept = [][]byte{[]byte("text/html"), []byte("application/pdf")}, "two headers"
		} else {
			headers = [][]byte{[]byte(accept)}
		}
		if got := prefersPDF(headers); got != want {
			t.Errorf("%s: %v", accept, got)
		}
	}
	if prefersPDF(nil) {
		t.Error("no header: a PDF")
	}
}
