package console

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"pixd/actors/pix"
)

// TestLive checks which figures are kept, and when new ones are wanted.
func TestLive(t *testing.T) {
	l := NewLive(make(chan struct{}))
	wants := func(at pix.Millis, live, kept bool) {
		t.Helper()
		if gotLive, gotKept := l.Wanted(at); gotLive != live || gotKept != kept {
			t.Errorf("at %d wanted %v %v, want %v %v", at, gotLive, gotKept, live, kept)
		}
	}
	wants(0, false, true)
	for i := range pix.Millis(3 * hour) {
		l.Keep(Figures{At: 1 + i*keepEvery, Payments: float64(i)})
	}
	kept := l.hour()
	if f, _ := l.now(); len(kept) != hour || kept[hour-1].At-kept[0].At != (hour-1)*keepEvery || kept[hour-1].Payments != 3*hour-1 || f != kept[hour-1] {
		t.Errorf("%d figures from %d to %+v", len(kept), kept[0].At, kept[len(kept)-1])
	}
	newest := kept[hour-1].At
	wants(newest+keepEvery-1, false, false)
	wants(newest+keepEvery, false, true)
	if err := l.watchers.Take(t.Context(), "olga"); err != nil {
		t.Fatal(err)
	}
	wants(newest, true, false)
	l.Publish(Figures{At: 7})
	l.Keep(Figures{At: 8})
	if f, _ := l.now(); f.At != 7 {
		t.Errorf("shown: %+v", f)
	}
	l.watchers.Give("olga")
	wants(newest, false, true)
}

// watcher reads a stream of events, and does something after each.
type watcher struct {
	bytes.Buffer
	after func(n int)
	n     int
}

var errGone = errors.New("the browser has gone")

func (w *watcher) Write(p []byte) (int, error) {
	if w.n++; w.n > 10 {
		return 0, errGone
	}
	n, err := w.Buffer.Write(p)
	w.after(w.n)
	return n, err
}

// TestTell checks that a browser gets new figures in its language until the session or the engine ends.
func TestTell(t *testing.T) {
	for name, end := range map[string]func(f *fixture, c *console, one *session){
		"logout":  func(_ *fixture, c *console, one *session) { c.sessions.end(one) },
		"revoked": func(f *fixture, _ *console, _ *session) { delete(f.named, olgaToken) },
		"old":     func(f *fixture, _ *console, _ *session) { f.now += sessionLasts },
		"engine":  func(f *fixture, _ *console, _ *session) { close(f.ended) },
	} {
		f := newFixture(t)
		c := f.console()
		one, _ := c.sessions.begin(olgaToken)
		w := &watcher{}
		w.after = func(n int) {
			if n == 2 {
				end(f, c, one)
			}
			if n < 2 || name != "engine" {
				f.live.Publish(Figures{At: f.now, Payments: float64(n) + .5, P50: math.NaN(), DiskFree: 1 << 30, Doubt: 1})
			}
		}
		if err := c.tell(w, portuguese, one); err != nil || w.n != 2 || strings.Count(w.String(), "\n\n") != 2 {
			t.Errorf("%s: %v after %d events\n%s", name, err, w.n, w.String())
		}
		if got := w.String(); !strings.HasPrefix(got, "retry: 2000\ndata: {") || !strings.Contains(got, `"payments":{"text":"1,5/s","bad":false}`) || !strings.Contains(got, `"p50":{"text":"– ms"`) || !strings.Contains(got, `"doubt":{"text":"1","bad":true}`) ||
			!strings.Contains(got, `"disk":{"text":"1,0 GiB","bad":true}`) || strings.Contains(got, "cluster") {
			t.Errorf("%s: %s", name, got)
		}
	}
	f := newFixture(t)
	c := f.console()
	one, _ := c.sessions.begin(olgaToken)
	if err := c.tell(&watcher{after: func(int) { f.live.Publish(Figures{}) }}, english, one); !errors.Is(err, errGone) {
		t.Errorf("a browser that has gone: %v", err)
	}
	for _, path := range []string{"/console/live", "/console/plots", "/console/audit"} {
		if p := f.send("GET", path, "", "", "HX-Request", "true"); p.status != 401 || path != "/console/live" && p.header("HX-Redirect") != "/console/login" {
			t.Errorf("%s without a session: %d", path, p.status)
		}
	}
}

// TestPlots checks that the plots have the hour's figures, and a gap where nothing was measured.
func TestPlots(t *testing.T) {
	f := newFixture(t)
	for _, ago := range []pix.Millis{50, 40, 20, 0} {
		f.live.Keep(Figures{At: f.now - ago*60_000, Payments: float64(ago)})
	}
	p := f.send("GET", "/console/plots", f.login(veraToken), "", "Accept-Language", "en")
	f.says(p, 200, "Payments received", `aria-label="Latency"`)
	if n := strings.Count(p.body, "<svg "); n != 4 || strings.Contains(p.body, "style=") || strings.Contains(p.body, "<html") {
		t.Errorf("%d plots\n%s", n, p.body)
	}
	if n := strings.Count(p.body, "<circle "); n != 4*11 { // all figures lie so far apart that each is a dot; refunds and the like are 0
		t.Errorf("%d dots\n%s", n, p.body)
	}
}
