package pix

import (
	"math"
	"strings"
	"time"
)

// Millis is an instant: Unix milliseconds, UTC. Every time in the journal and
// in every answer has this resolution.
type Millis int64

// Time converts the instant to the standard library's type, in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// String is ISO 8601 with milliseconds and Z.
func (m Millis) String() string { return m.Time().Format("2006-01-02T15:04:05.000Z") }

// Latest is the latest instant that the code uses.
const Latest = Millis(math.MaxInt64 - 1)

// Reading is the state of the engine's clock at one instant.
type Reading struct {
	// Time is the time stamp for records. It is Clock, except where the clock was behind
	// the journal at the start of the process: a stamp is never earlier than the stamp of
	// the newest record.
	Time Millis
	// Clock is engine time. Ages, due times and the minute of an end-to-end id use Clock,
	// never Time.
	Clock Millis
	// Doubted says that engine time is doubted: Clock may be wrong by hours. While it is
	// doubted, nothing is voided, nothing expires and no repeat window ends.
	Doubted bool
	// Start is the value of Clock at the start of the process. Time that has passed since
	// Start is measured exactly; the time between a stamp made under doubt and Start is not
	// known.
	Start Millis
}

// Since returns the instant from which the age of something stamped at is counted. If
// engine time was doubted when the stamp was made, perhaps by an earlier process, the age
// counts from the start of this process at the earliest.
func (r Reading) Since(at Millis, doubted bool) Millis {
	if doubted {
		return max(at, r.Start)
	}
	return at
}

// At returns the reading of an undoubted clock at time t.
func At(t Millis) Reading { return Reading{Time: t, Clock: t} }

// Duration returns m, a length of time in ms, as 1m30s, without zero minutes and zero seconds at its end.
func (m Millis) Duration() string {
	s := (time.Duration(m) * time.Millisecond).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
