package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
)

// logFlags are the flags for the log of a running process.
type logFlags struct{ format, level string }

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
	w, options := newLogWriter(os.Stderr), &slog.HandlerOptions{Level: level}
	log := slog.New(slog.NewTextHandler(w, options))
	if f.format == "json" {
		log = slog.New(slog.NewJSONHandler(w, options))
	}
	w.lost = func(lines int64) { log.Warn("lines of the log were lost: nobody read them in time", "lines", lines) }
	return log, nil
}
