package account

import (
	"context"

	"pixd/actors/keyed"
	"pixd/actors/layout"
)

// FillPresent adds every stored row that layout.MostlyAbsent is about to the filter, which
// excludes keys from then on. Rows that are written while it runs are added by their writers.
// Where a read fails or the context ends, the filter goes on to exclude nothing.
func FillPresent(ctx context.Context, f *keyed.Filter, scan ScanFunc) error {
	for _, of := range layout.MostlyAbsentRanges() {
		err := scan(of[0], of[1], func(k, _ []byte) (bool, error) {
			f.Add(k)
			return ctx.Err() == nil, nil
		})
		if err != nil {
			return err
		}
	}
	if ctx.Err() == nil {
		f.Ready()
	}
	return nil
}
