// Package snapshots makes snapshots of a running engine: when an operator asks for one, and at
// intervals. It copies the journal, has the copy packed with the lowest priority in another
// process of the same program, and removes the oldest snapshots. What a snapshot holds and how
// it is restored is in package journal; the file's format is in package snapshot.
package snapshots
