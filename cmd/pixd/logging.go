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
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q: text or json", f.format)
}
