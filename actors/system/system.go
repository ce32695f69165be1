// Package system makes the actor systems of an engine.
package system

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
)

// The library spreads the names of actors over 1,024 maps, each of which is split again into as many as are set here, with a
// lock for each. One is enough: there are 1,024 locks already. With the usual 32 an empty system takes 6.7 ms and 2.9 MB,
// and so 0.2 ms and 0.1 MB.
func init() { cmap.SHARD_COUNT = 1 }

// New makes an actor system without an actor. What the library logs goes to h.
func New(h slog.Handler) *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(h) }))
}
