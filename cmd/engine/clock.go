package engine

import (
	"fmt"
	"time"

	"pixd/actors/pix"
)

// compareEvery is the time between two comparisons of the wall clock with engine time.
const compareEvery = time.Second

// keepClock raises an alert when engine time is doubted, and when the wall clock has jumped.
func (e *Engine) keepClock() {
	if behind := e.Clock.Behind(); behind > 0 {
		e.Config.alerts.RaiseGeneral(AlertClock, fmt.Sprintf("the engine's clock is doubted: it is %v behind the journal's newest record; nothing is voided and nothing expires until it is there, "+
			"or an operator says pixd clock accept", (time.Duration(behind)*time.Millisecond).Round(time.Second)))
	}
	look := func() error {
		if alert := e.Clock.Look(); alert != "" {
			e.Config.alerts.RaiseGeneral(AlertClock, alert)
		}
		return nil
	}
	_ = look()
	e.repeat(compareEvery, "", look)
}

// stated compares engine time with a time that the scheme has stated.
func (e *Engine) stated(at pix.Millis) {
	if alert := e.Clock.Stated(at); alert != "" {
		e.Config.alerts.RaiseGeneral(AlertClock, alert)
	}
}

// AlertClock is the kind of alert about a clock, of this process or of another node.
const AlertClock = "clock"
