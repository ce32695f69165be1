package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// logFlags are the flags for the log of a running process.
type logFlags struct {
	format, level string
	out           *logWriter // where it is written to, once logger was called
}

func (f *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "log-format", "text", "the log's form, `text|json`")
	flags.StringVar(&f.level, "log-level", "info", "what is logged, this `LEVEL` and above: debug, info, warn or error")
}

func (f *logFlags) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: debug, info, warn or error", f.level)
	}
	if f.format != "text" && f.format != "json" {
		return nil, fmt.Errorf("--log-format %q: text or json", f.format)
	}
	handler := func(w io.Writer) slog.Handler {
		if f.format == "json" {
			return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
		}
		return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
	}
	f.out = newLogWriter(os.Stderr)
	direct := slog.New(handler(os.Stderr))
	f.out.lost = func(lines int64) { direct.Warn("lines of the log were lost: nobody read them in time", "lines", lines) }
	return slog.New(handler(f.out)), nil
}

// lastWords writes why the process ends, though nobody may read it, within stallAfter and patience.
func lastWords(text string, patience time.Duration) {
	w := newLogWriter(os.Stderr)
	_, _ = w.Write([]byte(text + "\n"))
	w.flush(patience)
}
