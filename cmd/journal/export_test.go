package journal

// What the tests of the package's users need of it.
var (
	RowName    = rowName
	ChunkBytes = chunkBytes
)
