package httpapi

// parameter is a query parameter's value by its name in snake_case; with
// camelCase it may come in either spelling. given is false where it is absent,
// clear is false where it comes in both, and a 400 is due.
func (c *call) parameter(name string) (value string, given, clear bool) {
	args := c.ctx.QueryArgs()
	given = args.Has(name)
	value = string(args.Peek(name))
	if !c.camel {
		return value, given, true
	}
	other := string(appendCamel(nil, name))
	if other == name || !args.Has(other) {
		return value, given, true
	}
	return string(args.Peek(other)), true, !given
}
