package admin

import (
	"math/big"
	"regexp"
	"slices"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// Snapshots makes, lists and verifies snapshots of the journal.
type Snapshots interface {
	// Start begins a snapshot and does not wait for it. base makes it an increment upon the snapshot
	// of that name, or, with AutoBase, upon the newest one that can be used, if there is one; empty:
	// it has all its files. Errors: a Problem where one is under way, too little disk is free, or
	// the base is missing or cannot be used.
	Start(base string) (SnapshotRun, error)
	// Runs returns the snapshot that is being made, and the one that ended last since the
	// start; nil: there is none.
	Runs() (running, last *SnapshotRun)
	// List returns all snapshots, newest first.
	List() ([]Snapshot, error)
	// Verify begins to verify the snapshot of a name, and does not wait for it. Errors: a Problem where
	// there is none of that name, one is being made or verified, or too little disk is free.
	Verify(file string) (SnapshotCheck, error)
	// Checks returns the verification that runs, and the one that ended last since the start; nil: there
	// is none.
	Checks() (running, last *SnapshotCheck)
}

// AutoBase stands for the newest snapshot that can be used.
const AutoBase = "auto"

// SnapshotRun is the making of a snapshot.
type SnapshotRun struct {
	StartedAt   pix.Millis
	Base        string // name of the snapshot that it is an increment upon; empty: it has all its files
	Stage       string // what is being done: copying, reading or packing
	Done, Total int64  // bytes that were read or packed, or need not be, of twice all that there are
	FinishedAt  pix.Millis
	Path        string // of the finished snapshot
	Err         string // why there is none; empty: it is finished, or being made
}

// Snapshot is a snapshot's file, as operators see it. If Err is set, the file is named like a snapshot
// but cannot be used: then only File, Path and Size are set besides.
type Snapshot struct {
	File      string   `json:"file"`
	Path      string   `json:"path"`
	CreatedAt *string  `json:"created_at"`
	Position  *uint64  `json:"position"`  // of the newest batch in it
	Newest    *string  `json:"newest_at"` // time of that batch
	Accounts  *int     `json:"accounts"`
	Balance   *big.Int `json:"balance"` // sums over all accounts, in base units
	Pending   *big.Int `json:"pending"`
	MEDHeld   *big.Int `json:"med_held"`
	Size      int64    `json:"size"`  // of the file, in bytes
	Base      *string  `json:"base"`  // what this is an increment upon; null: it has all its files
	Needs     []string `json:"needs"` // the snapshots without which this one cannot be restored, by their names
	Err       *string  `json:"error"`
	Warning   *string  `json:"warning"` // about a snapshot that can be used
}

// runRow is the making of a snapshot, as operators see it.
type runRow struct {
	Status     string  `json:"status"` // running, finished or failed
	StartedAt  string  `json:"started_at"`
	Base       *string `json:"base"`
	Stage      *string `json:"stage"`
	Done       int64   `json:"bytes_done"`
	Total      int64   `json:"bytes_total"`
	FinishedAt *string `json:"finished_at"`
	Path       *string `json:"path"`
	Err        *string `json:"error"`
}

func runOf(r *SnapshotRun) *runRow {
	if r == nil {
		return nil
	}
	row := &runRow{
		Status: "running", StartedAt: r.StartedAt.String(), Base: orNull(r.Base), Stage: orNull(r.Stage), Done: r.Done, Total: r.Total,
		FinishedAt: instant(r.FinishedAt), Path: orNull(r.Path), Err: orNull(r.Err),
	}
	if r.FinishedAt != 0 {
		row.Status, row.Stage = "finished", nil
	}
	if r.Err != "" {
		row.Status = "failed"
	}
	return row
}

// createSnapshot is POST /admin/snapshots.
func (s *service) createSnapshot(ctx *fasthttp.RequestCtx) (int, any, error) {
	var base string
	if body := ctx.PostBody(); len(body) > 0 {
		f := control.Read(body, "base")
		if f.Text("base", &base) && base == "" {
			f.Refuse("base", "the name of a snapshot, or "+AutoBase)
		}
		if err := f.Fault(); err != nil {
			return 0, nil, err
		}
	}
	run, err := s.Snapshots.Start(base)
	if err != nil {
		return 0, nil, err
	}
	return fasthttp.StatusAccepted, runOf(&run), nil
}

// snapshotCursor is the form of the cursors of the list of snapshots: a snapshot's name.
var snapshotCursor = regexp.MustCompile(`^pixd-[0-9TZ-]{1,64}\.snap$`)

// behind returns the snapshots of a list that follow the one of a name. If that is gone, as it may be
// since the page before, they are those with smaller names.
func behind(all []Snapshot, name string) []Snapshot {
	if i := slices.IndexFunc(all, func(s Snapshot) bool { return s.File == name }); i >= 0 {
		return all[i+1:]
	}
	return slices.DeleteFunc(all, func(s Snapshot) bool { return s.File >= name })
}

// listSnapshots is GET /admin/snapshots?cursor=&limit=: newest first, with the one that is
// being made and the one that ended last, and so for verifications.
func (s *service) listSnapshots(ctx *fasthttp.RequestCtx) (int, any, error) {
	limit, err := control.ReadLimit(ctx)
	if err != nil {
		return 0, nil, err
	}
	after := string(ctx.QueryArgs().Peek("cursor"))
	if after != "" && !snapshotCursor.MatchString(after) {
		return 0, nil, control.Bad("cursor must be a next_cursor of this list")
	}
	all, err := s.Snapshots.List()
	if err != nil {
		return 0, nil, err
	}
	l := struct {
		control.List
		Running   *runRow   `json:"running"`
		Last      *runRow   `json:"last"`
		Verifying *checkRow `json:"verifying"`
		Verified  *checkRow `json:"verified"`
	}{List: control.List{Data: []any{}}}
	running, last := s.Snapshots.Runs()
	l.Running, l.Last = runOf(running), runOf(last)
	checking, checked := s.Snapshots.Checks()
	l.Verifying, l.Verified = checkOf(checking), checkOf(checked)
	if after != "" {
		all = behind(all, after)
	}
	for i := range all {
		if len(l.Data) == limit {
			l.Next = orNull(l.Data[limit-1].(*Snapshot).File)
			break
		}
		l.Data = append(l.Data, &all[i])
	}
	return fasthttp.StatusOK, l, nil
}
