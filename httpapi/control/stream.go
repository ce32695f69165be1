package control

import (
	"io"
	"log/slog"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// Stream is a long answer, which is written while it is being sent.
type Stream struct {
	ContentType string
	Write       func(w io.Writer) error // writes the body; see httpapi.Streamed
	Done        func()                  // called once, when nothing more is sent
	Works       bool                    // see httpapi.Streamed
}

// Send sends the answer. An error of Write is logged, and the connection is cut.
func (s *Stream) Send(ctx *fasthttp.RequestCtx, log *slog.Logger) {
	log = About(log, ctx)
	httpapi.Stream(ctx, s.ContentType, httpapi.Streamed{Write: s.Write, Works: s.Works, Done: func(err error) {
		if err != nil {
			log.Error("control: an answer broke off", "error", err)
		}
		s.Done()
	}})
}
