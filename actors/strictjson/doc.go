// Package strictjson reads JSON strictly: requests to the admin API and to the simulator,
// and the messages between engine and scheme. A body must mean the same to every reader;
// otherwise it is refused. JSON libraries accept names in another case, names that occur
// twice, bytes that are not UTF-8, and bytes after the object. So a body is scanned first
// and decoded afterwards.
package strictjson
