package receipt

// The families of fonts that a drawing uses.
const (
	common = "noto"  // of most texts
	others = "droid" // of characters that the common fonts lack; it has no bold letters
)

// familyOf returns the family that has a printable character.
func familyOf(r rune) string {
	if int(r) < len(coverage()) && coverage()[r] {
		return common
	}
	return others
}

// runs calls fn for each longest part of a text that has one family of fonts.
func runs(text string, fn func(family, part string)) {
	begin, family := 0, ""
	for i, r := range text {
		f := familyOf(r)
		if f != family && i > begin {
			fn(family, text[begin:i])
			begin = i
		}
		family = f
	}
	if begin < len(text) {
		fn(family, text[begin:])
	}
}

// Text writes a printable text with its left end and its base line at a place, in millimetres.
func (d *drawing) Text(x, y float64, text string) {
	runs(text, func(family, part string) {
		d.use(family)
		d.Fpdf.Text(x, y, part)
		x += d.Fpdf.GetStringWidth(part)
	})
	d.use(common)
}

// GetStringWidth returns the width of a printable text in the present size, in millimetres.
func (d *drawing) GetStringWidth(text string) (width float64) {
	runs(text, func(family, part string) {
		d.use(family)
		width += d.Fpdf.GetStringWidth(part)
	})
	d.use(common)
	return width
}

// use selects a family in the present style and size. The fonts of other characters are large
// and seldom needed, so they are opened when they are first used.
func (d *drawing) use(family string) {
	if family == d.family {
		return
	}
	if family == others && !d.opened {
		d.opened = true
		addFont(d.Fpdf, others, "", fallback())
	}
	style := d.style
	if family == others {
		style = ""
	}
	d.SetFont(family, style, d.size)
	d.family = family
}
