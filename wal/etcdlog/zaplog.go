package etcdlog

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// core hands etcd's messages on to a slog.Logger, each less urgently than etcd does: what is a
// warning or an error to etcd, such as a member that does not answer, is what it is made for.
type core struct {
	log    *slog.Logger
	fields []zapcore.Field
}

// zapTo returns a logger for etcd that writes to log.
func zapTo(log *slog.Logger) *zap.Logger { return zap.New(core{log: log.With("part", "etcd")}) }

// ErrPutBack says that a member's folder lacks what the other members have had from it on its disk.
var ErrPutBack = errors.New("its folder was put back to an earlier state and has lost what it has promised to keep: the node must leave and join again")

// putBack is told once where raft finds that a member's folder was put back. Raft must not go on then, and would end the
// process with a stack; while the member starts, raft's goroutine ends instead, and the start fails.
type putBack struct {
	found   chan struct{} // closed then
	started atomic.Bool
	once    sync.Once
}

// OnWrite implements zapcore.CheckWriteHook for messages with which etcd panics.
func (p *putBack) OnWrite(e *zapcore.CheckedEntry, _ []zapcore.Field) {
	if strings.HasPrefix(e.Message, "tocommit(") && !p.started.Load() { // as raft says it in commitTo
		p.once.Do(func() { close(p.found) })
		runtime.Goexit()
	}
	panic(e.Message)
}

// level returns the level of a message. etcd's debug messages are dropped.
func level(l zapcore.Level) slog.Level {
	switch {
	case l <= zapcore.WarnLevel:
		return slog.LevelDebug
	case l == zapcore.ErrorLevel:
		return slog.LevelInfo
	default: // etcd ends the process
		return slog.LevelError
	}
}

// Enabled implements zapcore.Core.
func (c core) Enabled(l zapcore.Level) bool {
	return l > zapcore.DebugLevel && c.log.Enabled(context.Background(), level(l))
}

// With implements zapcore.Core.
func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{c.log, slices.Concat(c.fields, fields)}
}

// Check implements zapcore.Core.
func (c core) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write implements zapcore.Core.
func (c core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range slices.Concat(c.fields, fields) {
		f.AddTo(values)
	}
	var args []any
	for _, k := range slices.Sorted(maps.Keys(values.Fields)) {
		args = append(args, k, values.Fields[k])
	}
	c.log.Log(context.Background(), level(e.Level), e.Message, args...)
	return nil
}

// Sync implements zapcore.Core.
func (core) Sync() error { return nil }
