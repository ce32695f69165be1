package provider

import (
	"context"

	"pixd/actors/scheme"
)

func (p *Provider) Book(context.Context) (scheme.Book, error) { return scheme.Book{}, nil }
