package registry

import (
	"reflect"
	"testing"
)

// TestOnlyHashOfSecret checks that an API key has room for nothing of its secret except the
// hash: no other byte array and no byte slice is within reach of it.
func TestOnlyHashOfSecret(t *testing.T) {
	var bytes []string
	seen := map[reflect.Type]bool{}
	var walk func(path string, of reflect.Type)
	walk = func(path string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Array, reflect.Slice:
			if of.Elem().Kind() == reflect.Uint8 {
				bytes = append(bytes, path)
				return
			}
			walk(path, of.Elem())
		case reflect.Pointer:
			walk(path, of.Elem())
		case reflect.Struct:
			if seen[of] || of.PkgPath() == "net/netip" {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				walk(path+"."+of.Field(i).Name, of.Field(i).Type)
			}
		case reflect.Interface, reflect.UnsafePointer, reflect.Func, reflect.Map, reflect.Chan:
			t.Errorf("%s may hold anything", path)
		}
	}
	walk("APIKey", reflect.TypeFor[APIKey]())
	if len(bytes) != 1 || bytes[0] != "APIKey.SecretHash" {
		t.Errorf("an API key holds bytes in %v", bytes)
	}
}
