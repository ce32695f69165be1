package fair

import "container/list"

// Line divides a number of places among users as Pool does, for a machine in which nobody waits:
// it says whose turn it is, and counts the places that are in use. It keeps what waits for a place
// in one queue for each user. Users whose queue is not empty and whose share is not used up take
// turns; a user whose share is used up waits aside, and goes to the end of the turns when it gives
// a place back. Only one goroutine may use a Line at a time.
type Line[K comparable, T any] struct {
	places, share  int
	inUse, waiting int
	users          map[K]*user[K, T]
	turns          list.List // of *user[K, T]
}

type user[K comparable, T any] struct {
	key   K
	inUse int
	items list.List // of T
	turn  *list.Element
}

// Place is where an item is in a line.
type Place[K comparable, T any] struct {
	user *user[K, T]
	item *list.Element
}

// NewLine makes a line for a number of places, of which one user has at most its share. Both are
// at least 1.
func NewLine[K comparable, T any](places, share int) Line[K, T] {
	return Line[K, T]{places: places, share: share, users: map[K]*user[K, T]{}}
}

// Add puts an item at the end of the user's queue.
func (l *Line[K, T]) Add(k K, item T) Place[K, T] {
	u := l.user(k)
	p := Place[K, T]{u, u.items.PushBack(item)}
	l.waiting++
	l.update(u)
	return p
}

// Remove takes an item out of the line whose turn has not come.
func (l *Line[K, T]) Remove(p Place[K, T]) {
	p.user.items.Remove(p.item)
	l.waiting--
	l.update(p.user)
}

// Next takes the item out of the line whose turn it is; false: no user has a turn. It does not
// look whether a place is free, and counts none.
func (l *Line[K, T]) Next() (k K, item T, ok bool) {
	first := l.turns.Front()
	if first == nil {
		return k, item, false
	}
	u := first.Value.(*user[K, T])
	item = u.items.Remove(u.items.Front()).(T)
	l.waiting--
	l.turns.MoveToBack(first)
	l.update(u)
	return u.key, item, true
}

// Begin counts a place that the user has from now on.
func (l *Line[K, T]) Begin(k K) {
	u := l.user(k)
	u.inUse++
	l.inUse++
	l.update(u)
}

// End stops counting a place of the user.
func (l *Line[K, T]) End(k K) {
	u := l.users[k]
	if u == nil || u.inUse == 0 {
		panic("fair: a place is given back that was not taken")
	}
	u.inUse--
	l.inUse--
	l.update(u)
}

// InUse returns the number of places in use.
func (l *Line[K, T]) InUse() int { return l.inUse }

// Waiting returns the number of items in the line.
func (l *Line[K, T]) Waiting() int { return l.waiting }

// Of returns how many places a user has, and how many of its items are in the line.
func (l *Line[K, T]) Of(k K) (inUse, waiting int) {
	if u := l.users[k]; u != nil {
		return u.inUse, u.items.Len()
	}
	return 0, 0
}

// Full tells whether all places are in use.
func (l *Line[K, T]) Full() bool { return l.inUse >= l.places }

// Shared tells whether a user has all places of its share.
func (l *Line[K, T]) Shared(k K) bool {
	inUse, _ := l.Of(k)
	return inUse >= l.share
}

func (l *Line[K, T]) user(k K) *user[K, T] {
	u := l.users[k]
	if u == nil {
		u = &user[K, T]{key: k}
		l.users[k] = u
	}
	return u
}

// update lets the user take turns while it has items and its share is not used up, and forgets
// it once it has neither items nor places, so that memory follows what is at work.
func (l *Line[K, T]) update(u *user[K, T]) {
	switch takes := u.items.Len() > 0 && u.inUse < l.share; {
	case takes && u.turn == nil:
		u.turn = l.turns.PushBack(u)
	case !takes && u.turn != nil:
		l.turns.Remove(u.turn)
		u.turn = nil
	}
	if u.inUse == 0 && u.items.Len() == 0 {
		delete(l.users, u.key)
	}
}
