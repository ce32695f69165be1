package console

import "net/url"

// outcome is what became of a form, and the page to read next: a path below Path with its query; empty: the one of the form's route.
type outcome struct {
	Notice, Problem, To string
	Shown               string     // whose documents were asked for
	search              string     // what accounts are searched for by
	fields              url.Values // of a form that was refused: what was filled in
	form                string     // the path of that form's route
}

// failed is the outcome of a form that could not be carried out.
func (v *visit) failed(err error) outcome {
	_, text := v.judge(err)
	return outcome{Problem: text}
}

// did is the outcome of a form that was carried out, unless err says that it was not.
func (v *visit) did(err error, word string, args ...any) outcome {
	if err != nil {
		return v.failed(err)
	}
	return outcome{Notice: v.Lang.say(word, args...)}
}

// without is an outcome without what was filled in.
func (o outcome) without() outcome {
	o.fields = nil
	return o
}

// next is an outcome after which another page is read.
func (o outcome) next(to string) outcome {
	o.To = to
	return o
}
