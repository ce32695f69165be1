// Package overload keeps the engine working well when there is more to do than it can do. It
// decides whether merchants' new work is refused (Admission), measures how long requests wait to
// be read (Intake), says when webhooks should give way to payments (Load), and sets how often
// the garbage collector runs (Tune).
package overload
