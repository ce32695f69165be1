package openapitest

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
)

func decode(body []byte) (v any, err error) {
	err = json.NewDecoder(bytes.NewReader(body)).Decode(&v)
	return v, err
}

// note notes what of the document a body has shown: what, and each of its properties.
func (c *Contract) note(what string, of any, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[what] = true
	if v, err := decode(body); err == nil {
		key, s := c.content(what, of)
		c.mark(key, s, v)
	}
}

// content returns the JSON schema of a request or an answer, and its place.
func (c *Contract) content(key string, of any) (string, any) {
	key, is := c.resolve(key, of)
	kinds, _ := is["content"].(map[string]any)
	kind, _ := kinds["application/json"].(map[string]any)
	return key, kind["schema"]
}

// resolve follows a reference. The place of what is referred to is the reference.
func (c *Contract) resolve(key string, of any) (string, map[string]any) {
	is, _ := of.(map[string]any)
	ref, _ := is["$ref"].(string)
	if ref == "" {
		return key, is
	}
	var at any = c.root
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		in, _ := at.(map[string]any)
		at = in[name]
	}
	return c.resolve(ref, at)
}

// mark notes the properties that a value has. One that may be null counts as seen once it is not.
func (c *Contract) mark(key string, schema, v any) {
	key, s := c.resolve(key, schema)
	for i, part := range list(s["allOf"]) {
		c.mark(key+"/allOf/"+strconv.Itoa(i), part, v)
	}
	for i, choice := range list(s["oneOf"]) {
		if c.fits(choice, v) {
			c.mark(key+"/oneOf/"+strconv.Itoa(i), choice, v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, p := range properties(s) {
			if value := v[name]; value != nil {
				c.seen[key+"."+name] = true
				c.mark(key+"."+name, p, value)
			}
		}
	case []any:
		for _, element := range v {
			c.mark(key+"[]", s["items"], element)
		}
	}
}

// fits reports whether a value is one of a choice, by its properties.
func (c *Contract) fits(choice, v any) bool {
	_, s := c.resolve("", choice)
	is, object := v.(map[string]any)
	if !object {
		return v == nil == (s["type"] == "null") && s["type"] != "object"
	}
	names := map[string]any{}
	c.names(s, names)
	for name, value := range is {
		if names[name] == nil {
			return false
		}
		if _, p := c.resolve("", names[name]); p["const"] != nil && p["const"] != value {
			return false
		}
	}
	for _, name := range list(s["required"]) {
		if _, has := is[name.(string)]; !has {
			return false
		}
	}
	return len(names) > 0
}

func (c *Contract) names(s, into map[string]any) {
	maps.Copy(into, properties(s))
	for _, part := range list(s["allOf"]) {
		_, p := c.resolve("", part)
		c.names(p, into)
	}
}

func list(v any) []any { all, _ := v.([]any); return all }

func properties(s map[string]any) map[string]any { p, _ := s["properties"].(map[string]any); return p }

// Unseen returns what the document has and no exchange has shown: statuses, events, and properties of
// requests and answers, sorted.
func (c *Contract) Unseen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]bool{}
	for path, item := range c.object("paths") {
		for method, op := range item.(map[string]any) {
			if of, is := op.(map[string]any); is && method != "parameters" {
				c.everything(strings.ToUpper(method)+" "+path, of, all)
				c.everyName(strings.ToUpper(method)+" "+path, of, all)
			}
		}
	}
	maps.DeleteFunc(all, func(key string, _ bool) bool { return c.seen[key] })
	return slices.Sorted(maps.Keys(all))
}

func (c *Contract) everything(place string, of map[string]any, all map[string]bool) {
	event := strings.HasPrefix(place, "POST "+eventPaths)
	if of["requestBody"] != nil {
		all[place] = true
		key, s := c.content(place, of["requestBody"])
		c.every(key, s, all)
	}
	answers, _ := of["responses"].(map[string]any)
	for status, answer := range answers {
		if event || status == "default" {
			continue
		}
		all[place+" "+status] = true
		key, s := c.content(place+" "+status, answer)
		c.every(key, s, all)
	}
}

// every adds the properties that values of a schema can have; not those that are always null.
func (c *Contract) every(key string, schema any, all map[string]bool) {
	key, s := c.resolve(key, schema)
	for _, of := range []string{"allOf", "oneOf"} {
		for i, part := range list(s[of]) {
			c.every(key+"/"+of+"/"+strconv.Itoa(i), part, all)
		}
	}
	for name, p := range properties(s) {
		if _, is := c.resolve("", p); !all[key+"."+name] && is["type"] != "null" {
			all[key+"."+name] = true
			c.every(key+"."+name, p, all)
		}
	}
	if s["items"] != nil {
		c.every(key+"[]", s["items"], all)
	}
}

// Operations returns the methods and paths of the document.
func (c *Contract) Operations() (all []string) {
	for path, item := range c.object("paths") {
		for method := range item.(map[string]any) {
			if operation := strings.ToUpper(method) + " " + path; !strings.Contains(path, eventPaths) {
				all = append(all, operation)
			}
		}
	}
	slices.Sort(all)
	return all
}
