package admin

import (
	"log/slog"

	"github.com/valyala/fasthttp"

	"pixd/actors/clock"
	"pixd/actors/registry"
	"pixd/httpapi/control"
)

// Clock is the state of engine time. Differences are in milliseconds, positive if the
// other clock is ahead of engine time.
type Clock struct {
	Now     string `json:"now"` // engine time
	Doubted bool   `json:"doubted"`
	Behind  int64  `json:"behind_journal_ms"`
	Wall    int64  `json:"wall_difference_ms"`
	Scheme  *int64 `json:"scheme_difference_ms"` // null: the scheme has not stated its time since the start
}

func viewOf(s clock.State) Clock {
	v := Clock{Now: s.Now.String(), Doubted: s.Doubted, Behind: int64(s.Behind), Wall: int64(s.Wall)}
	if s.Scheme != nil {
		v.Scheme = new(int64(*s.Scheme))
	}
	return v
}

// showClock is GET /admin/clock.
func (s *service) showClock(*fasthttp.RequestCtx) (int, any, error) {
	return fasthttp.StatusOK, viewOf(s.Clock.State()), nil
}

// acceptClock is POST /admin/clock: an operator states that engine time is right, although
// the scheme's clock differs from it or the journal's newest record is ahead of it.
func (s *service) acceptClock(ctx *fasthttp.RequestCtx) (int, any, error) {
	name, err := readOperator(ctx)
	if err != nil {
		return 0, nil, err
	}
	s.Clock.Accept()
	state := s.Clock.State()
	s.Log.LogAttrs(ctx, slog.LevelWarn, "an operator has accepted the engine's clock", slog.String("operator", name),
		slog.Any("clock", viewOf(state)))
	return fasthttp.StatusOK, viewOf(state), nil
}

// readOperator reads a body that has only the name of the operator who decides. Who has a token of their own is known by
// it, and need not send a body; another name is refused.
func readOperator(ctx *fasthttp.RequestCtx) (name string, err error) {
	who := control.Who(ctx)
	if who.Name != registry.Root && len(ctx.PostBody()) == 0 {
		return who.Name, nil
	}
	f := control.Read(ctx.PostBody(), "operator")
	if who.Name == registry.Root {
		f.Need("operator")
	} else if !f.Has("operator") {
		return who.Name, f.Fault()
	}
	if f.Text("operator", &name); !named(name) {
		f.Refuse("operator", "the name of who decides, 1 to 100 characters")
	} else if who.Name != registry.Root && name != who.Name {
		f.Refuse("operator", "the token's: "+who.Name)
	}
	return name, f.Fault()
}
