package httpapi

import "pixd/actors/fair"

// Counts returns how many connections are open, and how many were refused.
func (l *Connections) Counts() fair.Counts {
	return fair.Counts{InUse: int(l.open.Load()), Refused: l.turned.Load()}
}

// Lingering returns how many refused connections are kept open for a moment, and how many were not
// because too many were.
func (l *Connections) Lingering() fair.Counts {
	return fair.Counts{InUse: len(l.lingering), Refused: l.shut.Load()}
}

// Bodies returns how many bytes are reserved for the bodies of the connections' requests, and how
// many bodies were refused.
func (l *Connections) Bodies() fair.Counts {
	b := l.bodies.Load()
	if b == nil {
		return fair.Counts{}
	}
	return fair.Counts{InUse: int(bodiesRoom - b.room.Load()), Refused: b.refused.Load()}
}
