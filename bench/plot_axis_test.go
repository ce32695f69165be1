package bench

import (
	"fmt"
	"strings"
	"testing"

	"pixd/httpapi/plot"
)

// TestAxes checks the ends and labels of axes at unusual figures.
func TestAxes(t *testing.T) {
	labels := func(a plot.Axis) string {
		var all []string
		for _, t := range a.Ticks {
			all = append(all, fmt.Sprintf("%.4g=%s", t.Value, t.Label))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		name string
		axis plot.Axis
		want string
	}{
		{"nothing", plot.Linear("", 0, showExact), "0=0 1=1"},
		{"tiny", plot.Linear("", 0.003, showExact), "0=0 0.001=0.001 0.002=0.002 0.003=0.003"},
		{"less than a label", plot.Linear("", 1e-320, showExact), "0=0 1=1"},
		{"large", plot.Linear("", 38123, showExact), "0=0 1e+04=10,000 2e+04=20,000 3e+04=30,000 4e+04=40,000"},
		{"one decade", latencyAxis(2.1, 2.9), "2=100 µs 2.301=200 µs 2.699=500 µs 3=1 ms"},
		{"one latency", latencyAxis(3, 3), "3=1 ms 3.301=2 ms 3.699=5 ms 4=10 ms"},
		{"all latencies", latencyAxis(0, 8), "0=1 µs 1=10 µs 2=100 µs 3=1 ms 4=10 ms 5=100 ms 6=1 s 7=10 s 8=100 s"},
		{"a second", timeAxis(1), "0=0 0.1=0.1 0.2=0.2 0.3=0.3 0.4=0.4 0.5=0.5 0.6=0.6 0.7=0.7 0.8=0.8 0.9=0.9 1=1"},
		{"half a minute", timeAxis(30.013), "0=0 5=5 10=10 15=15 20=20 25=25 30=30 30.01="},
		{"an hour", timeAxis(3600), "0=0 600=10 1200=20 1800=30 2400=40 3000=50 3600=60"},
		{"no time", timeAxis(0), "0=0 0.1="},
		{"few requests", quantileAxis(0.3), "0=0 1=90 % 2=99 %"},
		{"many requests", quantileAxis(8.5), "0=0 1= 2=99 % 3= 4=99.99 % 5= 6=99.9999 % 7= 8=99.999999 % 8.5="},
	} {
		if got := labels(c.axis); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

// TestFigures checks how figures are shown.
func TestFigures(t *testing.T) {
	for _, c := range [][2]string{
		{showMicros(0), "0 µs"},
		{showMicros(7), "7.00 µs"},
		{showMicros(999.4), "999 µs"},
		{showMicros(999.6), "1.00 ms"},
		{showMicros(999600), "1.00 s"},
		{showMicros(61234567), "61.2 s"},
		{showDigits(0.0421), "0.042"},
		{showDigits(9.999), "10.0"},
		{showDigits(1234567.8), "1,234,568"},
		{showSeconds(0.013), "0.013 s"},
		{showSeconds(125.2), "2 min 5 s"},
		{showSeconds(600), "10 min"},
		{showSize(512e6), "512 MB"},
		{showSize(16 << 30), "17.2 GB"},
		{showShare(0.5), "50.0 %"},
		{legible("a\x1b[31m\xff\u202e\ufffdé"), `a\x1b[31m\xff\u202e` + "\ufffdé"},
		{legible(""), "(none)"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}
