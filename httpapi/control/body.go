package control

import "pixd/actors/strictjson"

// rules are those of every body. Its length is bounded where it is received.
var rules = strictjson.Rules{Deepest: 32, Paired: true}

// Read takes a body apart; known are all the names that it may have.
func Read(body []byte, known ...string) strictjson.Form {
	return strictjson.Read(body, rules, known...)
}
