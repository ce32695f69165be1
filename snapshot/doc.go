// Package snapshot packs a folder, such as a copy of a journal, into one file, and unpacks it
// again. It knows files and checksums; what is in the files is up to the caller.
//
// # The file
//
// A snapshot's name is pixd-<UTC time>-<position>.snap. The file is a zstd stream and can be
// unpacked with the programs zstd and tar: a tar archive, whose first entry is manifest.json
// and whose other entries are the files that the manifest lists, in the same order; and
// behind the archive, in a skippable zstd frame, the SHA-256 of every byte of the file before
// it. docs/snapshots.md describes each field.
//
// An increment is a snapshot that lists all files and has only those that its base, another snapshot
// in the same folder, has not; it names the snapshot that has each of the others.
//
// # For the caller
//
// Create writes a snapshot of a folder under a temporary name, syncs it, and renames it. A
// file that has a snapshot's name is therefore whole; Sweep removes what a crash has left.
// List reads the manifests of a folder's snapshots, and Retain removes the oldest ones, but none
// that an increment needs which stays.
//
// Open reads a snapshot's manifest, Check its checksum, and Unpack its files; each file's own
// checksum is compared, too. A Target is the folder that a snapshot is restored to: it is
// filled under a temporary name, and Finish moves it into place.
//
// Nothing here reads a clock or waits. Functions that take long call a Step, which may count,
// wait, or return an error to end them.
package snapshot
