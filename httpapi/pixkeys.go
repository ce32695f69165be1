package httpapi

import "github.com/valyala/fasthttp"

// listPixKeys is GET /pix/keys: the account's PIX keys, the oldest first.
func listPixKeys(c *call) {
	o := opened(c.camel, 256)
	o.flag("worked", true)
	o.name("data")
	o.b = append(o.b, '[')
	some := false
	for _, name := range c.account.PixKeys {
		k, ok := c.Registry.PixKey(name)
		if !ok || k.Account != c.account.ID { // it was removed since the account was read
			continue
		}
		status := "pending" // until the scheme has registered the key
		if k.Registered {
			status = "registered"
		}
		if some {
			o.b = append(o.b, ',')
		}
		some = true
		o.b = append(o.b, '{')
		o.text("key", k.Key)
		o.text("key_type", k.Type.String())
		o.text("status", status)
		o.text("created_at", k.CreatedAt.String())
		o.end()
	}
	o.b = append(o.b, ']')
	answer(c.ctx, fasthttp.StatusOK, o.closed())
}
