package httpapi

import (
	"strconv"
	"strings"
)

const typePDF, typeJSON = "application/pdf", "application/json"

// prefersPDF reports whether a request asks for a PDF by its headers Accept: they name PDF,
// and do not prefer JSON. Of two types with the same weight the one named first is preferred,
// and a type that only a wildcard covers comes last.
func prefersPDF(headers [][]byte) bool {
	pdf, json, wild := 0.0, -1.0, 0.0
	first := ""
	for _, h := range headers {
		for part := range strings.SplitSeq(string(h), ",") {
			kind, weight := accepted(part)
			switch kind {
			case typePDF:
				pdf = weight
			case typeJSON:
				json = weight
			case "*/*", "application/*":
				wild = max(wild, weight)
				continue
			default:
				continue
			}
			if first == "" {
				first = kind
			}
		}
	}
	if json < 0 {
		return pdf > 0 && pdf >= wild
	}
	return pdf > json || pdf == json && pdf > 0 && first == typePDF
}

// accepted reads one media range of a header Accept, and its weight: 0 to 1, and 1 where none
// is given or it cannot be read.
func accepted(text string) (kind string, weight float64) {
	kind, parameters, _ := strings.Cut(text, ";")
	weight = 1
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q >= 0 && q <= 1 {
			weight = q
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), weight
}
