// Package strictjson reads JSON that takes part in no signature: what the admin API is
// sent, what the simulator is, and the messages between engine and scheme. A body means
// one thing to every reader or is refused: libraries take names in another case, names
// that stand twice, bytes that are not UTF-8, and whatever follows the object. So it is
// scanned first and decoded then.
package strictjson
