package console

import (
	"fmt"
	"html/template"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"pixd/actors/pix"
)

// functions are what the pages call.
var functions = template.FuncMap{
	"say":      func(l language, key string, args ...any) string { return l.say(key, args...) },
	"money":    money,
	"moment":   moment,
	"masked":   masked,
	"document": document,
	"key":      maskedKey,
	"mark":     markOf,
	"size":     func(l language, n int64) string { return l.size(n) },
	"dict":     dict,
	"join":     strings.Join,
	"list":     func(all ...string) []string { return all },
}

// dict makes a map of names and values, for a part that needs several.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}

// money writes an amount as people do: R$ 1.234,56 and, with two more digits where they are not zero, R$ 0,0001.
func money(l language, a pix.Amount) string {
	sign, n := "", int64(a)
	if n < 0 {
		sign, n = "-", -n
	}
	_, comma := l.marks()
	return sign + "R$ " + l.grouped(strconv.FormatInt(n/10_000, 10)) + comma + units(n%10_000)
}

// units writes parts of a real: centavos, and what is less where it is not zero.
func units(n int64) string {
	text := fmt.Sprintf("%04d", n)
	return text[:2] + strings.TrimRight(text[2:], "0")
}

// marks are between thousands, and before decimals.
func (l language) marks() (point, comma string) {
	if l == english {
		return ",", "."
	}
	return ".", ","
}

// grouped puts marks between the thousands of a number without sign and decimals.
func (l language) grouped(whole string) string {
	point, _ := l.marks()
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + point + whole[i:]
	}
	return whole
}

// number writes a number with some decimals; -1: as many as it needs.
func (l language) number(n float64, decimals int) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return "–"
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	if decimals < 0 { // what sums of fractions add beyond is no digit that it needs
		n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'g', 6, 64), 64)
	}
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	if strings.Trim(text, "0.") == "" {
		sign = "" // zero, as it is written
	}
	whole, part, has := strings.Cut(text, ".")
	_, comma := l.marks()
	if !has {
		comma = ""
	}
	return sign + l.grouped(whole) + comma + part
}

// Count writes a whole number.
func (l language) Count(n any) string {
	if p, is := n.(*int); is {
		n = *p
	}
	text := fmt.Sprint(n)
	if strings.HasPrefix(text, "-") {
		return "-" + l.grouped(text[1:])
	}
	return l.grouped(text)
}

// Sum writes a sum over accounts, which may be more than an amount can be.
func (l language) Sum(n *big.Int) string {
	if n == nil {
		return ""
	}
	whole, part := new(big.Int).QuoRem(n, big.NewInt(10_000), new(big.Int))
	_, comma := l.marks()
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	return sign + "R$ " + l.grouped(whole.Abs(whole).String()) + comma + units(part.Abs(part).Int64())
}

// size writes a number of bytes.
func (l language) size(n int64) string {
	f, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && f >= 1024 {
		f, units = f/1024, units[1:]
	}
	decimals := 1
	if units[0] == "B" {
		decimals = 0
	}
	return l.number(f, decimals) + " " + units[0]
}

// parseMoney reads an amount as people write it, in the language's way: 1.234,56 with or without R$ and dots.
func (l language) parseMoney(text string) (pix.Amount, bool) {
	text = strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "R$")), " ", "")
	point, comma := l.marks()
	whole, part, _ := strings.Cut(text, comma)
	groups := strings.Split(whole, point)
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return 0, false
		}
	}
	digits := strings.Join(groups, "")
	if len(digits) == 0 || len(digits) > 13 || len(part) > 4 || strings.Trim(digits+part, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits+part+strings.Repeat("0", 4-len(part)), 10, 64)
	return pix.Amount(n), err == nil
}

// brasilia is three hours behind UTC, all the year since 2019.
var brasilia = time.FixedZone("BRT", -3*60*60)

// moment writes an instant of the operator API in Brasília's time and in UTC's.
func moment(l language, text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	form, day := "02/01/2006 15:04:05", "02/01 "
	if l == english {
		form, day = time.DateTime, "01-02 "
	}
	here, utc := t.In(brasilia), t.UTC()
	if here.Day() == utc.Day() {
		day = ""
	}
	return here.Format(form) + " (" + utc.Format(day+"15:04 UTC") + ")"
}

// masked hides a document but for its middle: ***.456.789-** of a CPF, and the first eight characters of a CNPJ.
func masked(document string) string {
	switch len(document) {
	case 0:
		return ""
	case 11:
		return "***." + document[3:6] + "." + document[6:9] + "-**"
	case 14:
		return document[:2] + "." + document[2:5] + "." + document[5:8] + "/****-**"
	}
	return "***"
}

// document writes a document whole where it was asked for, and else masks it.
func document(v *visit, subject, document string) string {
	if v.Shown == subject && subject != "" {
		return document
	}
	return masked(document)
}

// maskedKey masks a PIX key that is a document.
func maskedKey(v *visit, subject, key string) string {
	if (len(key) == 11 || len(key) == 14) && strings.Trim(key, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && !strings.HasPrefix(key, "+") {
		return document(v, subject, key)
	}
	return key
}
