package sim

import (
	"context"

	"pixd/actors/scheme"
)

func (s *Sim) Book(context.Context) (scheme.Book, error) { return scheme.Book{}, nil }
