package bench

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"pixd/cmd/terminal"
)

// showMicros shows a latency in microseconds as showDigits does, with its unit: µs, ms or s.
func showMicros(us float64) string {
	switch {
	case us < 999.5:
		return showDigits(us) + " µs"
	case us < 999.5e3:
		return showDigits(us/1e3) + " ms"
	}
	return showDigits(us/1e6) + " s"
}

// showDigits shows a figure with three significant digits, with two where it is below 1, and
// with all digits before its point where it is larger; thousands are separated by commas.
func showDigits(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case size >= 99.95:
		return humanize.CommafWithDigits(math.Round(v), 0)
	case size >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v == 0:
		return "0"
	case size < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 2+leadingZeros(size), 64)
}

// leadingZeros is the number of zeros between the point and the first other digit of a figure
// below 1, and 0 for a figure from 0.1.
func leadingZeros(size float64) int {
	return max(0, -int(math.Floor(math.Log10(size)))-1)
}

// showExact shows a figure of an axis without digits that say nothing: 0.5, 15,000.
func showExact(v float64) string {
	return humanize.Commaf(math.Round(v*1e6) / 1e6)
}

func showCount(n int) string { return humanize.Comma(int64(n)) }

// showSize shows a size in bytes as MB of 1,000,000 bytes, and from 10,000 of them as GB.
func showSize(bytes uint64) string {
	if bytes < 10e9 {
		return showDigits(float64(bytes)/1e6) + " MB"
	}
	return showDigits(float64(bytes)/1e9) + " GB"
}

// showShare shows a share of 0 to 1 in per cent.
func showShare(share float64) string { return showDigits(100*share) + " %" }

// showSeconds shows a length of time in seconds: in seconds below two minutes, and otherwise in
// minutes and seconds.
func showSeconds(s float64) string {
	if s < 119.5 {
		return showDigits(s) + " s"
	}
	whole := int(math.Round(s))
	return strings.TrimSuffix(showCount(whole/60)+" min "+strconv.Itoa(whole%60)+" s", " 0 s")
}

// legible is a text from a report or an engine made safe to show in a terminal and in a line of a
// page: characters that are not letters, marks, numbers, signs or spaces are escaped, because
// they may be commands to a terminal or turn the rest of a line around. An empty text is shown
// as "(none)".
func legible(s string) string {
	if s == "" {
		return "(none)"
	}
	return terminal.Plain(s)
}
