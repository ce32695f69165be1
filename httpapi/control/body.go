package control

import "pixd/actors/strictjson"

// rules apply to every body. Its length is limited by the server that receives it.
var rules = strictjson.Rules{Deepest: 32, Paired: true}

// Read splits a body into its fields; known are all the names that a field may have.
func Read(body []byte, known ...string) strictjson.Form {
	return strictjson.Read(body, rules, known...)
}
