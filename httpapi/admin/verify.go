package admin

import (
	"math/big"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// SnapshotCheck is the verification of a snapshot.
type SnapshotCheck struct {
	File      string // name of the snapshot
	StartedAt pix.Millis
	Stage     string // what is being done: checksum, files, records, rows or tables
	// Bytes of the stage checksum, of the file, and of files, of those that are unpacked. Later stages leave them as they are.
	Done, Total        int64
	Records, Rows      uint64 // what was verified so far
	Batches, OfBatches uint64 // batches that were verified, of all that the journal in it has
	FinishedAt         pix.Millis
	Totals             *SnapshotTotals // nil: it runs, or has failed
	Err                string          // why it failed; empty: the snapshot is as it should be, or is being verified
}

// SnapshotTotals is what the records of a verified snapshot come to, which is what it says of itself.
type SnapshotTotals struct {
	Position uint64   `json:"position"` // of the newest batch in it
	Records  uint64   `json:"records"`
	Rows     uint64   `json:"rows"`
	Accounts int      `json:"accounts"`
	Balance  *big.Int `json:"balance"` // sums over all accounts, in base units
	Pending  *big.Int `json:"pending"`
	MEDHeld  *big.Int `json:"med_held"`
}

// checkRow is the verification of a snapshot, as operators see it.
type checkRow struct {
	File       string          `json:"file"`
	Status     string          `json:"status"` // running, passed or failed
	StartedAt  string          `json:"started_at"`
	Stage      *string         `json:"stage"`
	Done       int64           `json:"bytes_done"`
	Total      int64           `json:"bytes_total"`
	Batches    uint64          `json:"batches_done"`
	OfBatches  uint64          `json:"batches_total"`
	Records    uint64          `json:"records_done"`
	Rows       uint64          `json:"rows_done"`
	FinishedAt *string         `json:"finished_at"`
	Totals     *SnapshotTotals `json:"totals"`
	Err        *string         `json:"error"`
}

func checkOf(c *SnapshotCheck) *checkRow {
	if c == nil {
		return nil
	}
	row := &checkRow{
		File: c.File, Status: "running", StartedAt: c.StartedAt.String(), Stage: orNull(c.Stage), Done: c.Done, Total: c.Total,
		Batches: c.Batches, OfBatches: c.OfBatches, Records: c.Records, Rows: c.Rows, FinishedAt: instant(c.FinishedAt), Totals: c.Totals, Err: orNull(c.Err),
	}
	if c.FinishedAt != 0 {
		row.Status, row.Stage = "passed", nil
	}
	if c.Err != "" {
		row.Status = "failed"
	}
	return row
}

// verifySnapshot is POST /admin/snapshots/{file}/verify.
func (s *service) verifySnapshot(ctx *fasthttp.RequestCtx) (int, any, error) {
	file, _ := ctx.UserValue("file").(string)
	check, err := s.Snapshots.Verify(file)
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusAccepted, checkOf(&check), nil
}
