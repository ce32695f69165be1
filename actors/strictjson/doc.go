// Package strictjson reads JSON strictly. It is used for requests to the admin API and to
// the simulator, and for the messages between engine and scheme. A body must mean the same
// to every reader; otherwise it is refused. JSON libraries differ in whether they accept
// names in another case, names that occur twice, bytes that are not UTF-8, and bytes after
// the object. So a body is scanned for such things first and decoded afterwards.
package strictjson
