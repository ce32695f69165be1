package control

import "pixd/actors/strictjson"

// rules apply to every request body. The server that receives a body limits the body's
// length.
var rules = strictjson.Rules{Deepest: 32, Paired: true}

// Read splits a body into its fields; known are the names of all fields that the body may
// have.
func Read(body []byte, known ...string) strictjson.Form {
	return strictjson.Read(body, rules, known...)
}
