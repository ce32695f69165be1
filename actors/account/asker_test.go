package account

import (
	"errors"
	"reflect"
	"testing"

	"pixd/actors/due"
	"pixd/actors/ledger"
)

// keptResults keeps the results of due tasks.
type keptResults []due.Result

func (k *keptResults) Done(_ due.Task, r due.Result) { *k = append(*k, r) }

// TestEndedReportsEveryField checks that each field of ledger.Attended reaches the scanner in
// the field of due.Result that has its name, that due.Result has no other field but the error,
// and that a task without a result is not reported.
func TestEndedReportsEveryField(t *testing.T) {
	var at ledger.Attended
	given := reflect.ValueOf(&at).Elem()
	for i := range given.NumField() {
		switch f := given.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("public")
		default:
			f.SetInt(int64(i) + 1)
		}
	}
	var got keptResults
	ended(&got, &due.Task{}, &at)
	ended(&got, &due.Task{}, nil)
	ended(&got, nil, &at)
	if len(got) != 1 {
		t.Fatalf("%d results", len(got))
	}
	result := reflect.ValueOf(got[0])
	for i := range given.NumField() {
		name := given.Type().Field(i).Name
		if f := result.FieldByName(name); !f.IsValid() || f.Interface() != given.Field(i).Interface() {
			t.Errorf("%s is %v, want %v", name, f, given.Field(i))
		}
	}
	if result.NumField() != given.NumField()+1 || got[0].Err != nil {
		t.Errorf("the result is %+v", got[0])
	}
	failed := errors.New("failed")
	if (&taskOf{tasks: &got}).failed(failed); got[1] != (due.Result{Err: failed}) {
		t.Errorf("a failed task has the result %+v", got[1])
	}
}
