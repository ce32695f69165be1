package journal

import "fmt"

// The folders in a data folder: the journal, and the book of the simulator in the engine's
// process.
const (
	Folder    = "journal"
	SimFolder = "sim"
)

// HeadEvery is the number of records between two head rows of an account. It is a hard
// setting: it must not change once there is data.
const HeadEvery = 256

// settingHeadEvery is the name under which the store keeps HeadEvery, and settingISPB that of
// the service's own ISPB.
const (
	settingHeadEvery = "head-interval"
	settingISPB      = "ispb"
)

// HardSettings returns the settings that are fixed for ever when a journal is made.
func HardSettings(ispb string) map[string]string {
	return map[string]string{"journal": "pixd-1", settingISPB: ispb, settingHeadEvery: fmt.Sprint(HeadEvery)}
}
