package receipt

import (
	"bytes"
	"fmt"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// The page, A4, in millimetres.
const (
	pageWidth, pageHeight = 210.0, 297.0
	margin                = 22.0
	labels                = 48.0 // width of the labels' column
	footHeight            = 14.0
)

// scale is the size of the sections' text and of the room around it.
type scale struct {
	text                                    float64 // in points
	line, rowGap, headingHeight, sectionGap float64
}

// scales are tried in turn until the sections fit on the page.
var scales = []scale{
	{10, 5, 2, 11, 5},
	{9, 4.4, 1.4, 10, 3.5},
	{8, 3.8, 1, 9, 2},
}

type colour struct{ r, g, b int }

var (
	accent = colour{14, 92, 84}
	ink    = colour{28, 32, 36}
	pale   = colour{108, 116, 122}
	rule   = colour{218, 223, 226}
)

// PDF returns the receipt as a PDF file of one page. It may be called from several goroutines at
// once.
func PDF(f Facts) ([]byte, error) {
	p := f.page()
	d := newDrawing(&p, f.TransactionID, time.UnixMilli(int64(f.CompletedAt)).UTC())
	d.head(&p)
	for _, b := range d.fitted(p.sections) {
		d.section(&b)
	}
	d.foot(p.foot)
	var out bytes.Buffer
	if err := d.Output(&out); err != nil {
		return nil, fmt.Errorf("receipt: draw %s: %w", f.TransactionID, err)
	}
	return out.Bytes(), nil
}

// drawing is a page while it is drawn.
type drawing struct {
	*fpdf.Fpdf
	y     float64 // where the next part begins
	scale scale   // of the sections

	family, style string  // the present font; see ink and use
	size          float64 // of the present font, in points
	opened        bool    // whether the fonts of other characters are open
}

func newDrawing(p *page, id string, made time.Time) *drawing {
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.SetCatalogSort(true) // the library would write its maps in random order
	pdf.SetCreationDate(made)
	pdf.SetModificationDate(made)
	pdf.SetProducer("pixd", false)
	pdf.SetTitle(p.title+" "+printable(id), true)
	pdf.SetAuthor(p.issuer, true)
	pdf.SetLang("pt-BR")
	pdf.SetAutoPageBreak(false, 0)
	addFont(pdf, common, "", regular)
	addFont(pdf, common, "B", bold)
	pdf.AddPage()
	return &drawing{Fpdf: pdf}
}

// addFont opens a font. The library gets a copy, because it writes into the file of a font in
// which several glyphs share a width.
func addFont(pdf *fpdf.Fpdf, family, style string, file []byte) {
	pdf.AddUTF8FontFromBytes(family, style, bytes.Clone(file))
}

// ink sets font and colour of the texts that follow; size is in points.
func (d *drawing) ink(style string, size float64, c colour) {
	d.family, d.style, d.size = common, style, size
	d.SetFont(common, style, size)
	d.SetTextColor(c.r, c.g, c.b)
}

func (d *drawing) right(y float64, text string) {
	d.Text(pageWidth-margin-d.GetStringWidth(text), y, text)
}

// line draws a horizontal rule over the width of the text.
func (d *drawing) line(y float64, c colour, width float64) {
	d.SetDrawColor(c.r, c.g, c.b)
	d.SetLineWidth(width)
	d.Line(margin, y, pageWidth-margin, y)
}

// head draws what stands above the sections.
func (d *drawing) head(p *page) {
	d.SetFillColor(accent.r, accent.g, accent.b)
	d.Rect(0, 0, pageWidth, 5, "F")
	d.ink("", 9, pale)
	d.Text(margin, 19, d.wrapped(p.issuer, pageWidth-2*margin, 1)[0])
	d.ink("B", 17, accent)
	d.Text(margin, 30, p.title)
	d.ink("B", 25, ink)
	d.Text(margin, 46, p.amount)
	d.ink("", 10, pale)
	d.Text(margin, 54, p.when+" (horário de Brasília)")
	d.y = 61
}

func (d *drawing) foot(text string) {
	d.line(pageHeight-footHeight-5, rule, 0.2)
	d.ink("", 8, pale)
	d.Text(margin, pageHeight-footHeight, d.wrapped(text, pageWidth-2*margin-20, 1)[0])
	d.right(pageHeight-footHeight, "1/1")
}

// block is a section whose values are cut into lines.
type block struct {
	heading string
	rows    []lines
}

type lines struct {
	label  string
	values []string
}

// mostLines is the largest number of lines of one value where the page has room for all.
const mostLines = 12

// fitted cuts the values into lines such that all sections fit on the page: in smaller text
// where they must, and without the ends of the longest values where that is not enough.
func (d *drawing) fitted(sections []section) (all []block) {
	for _, d.scale = range scales {
		if all = d.blocks(sections, mostLines); d.fit(all) {
			return all
		}
	}
	for most := mostLines - 1; most > 0 && !d.fit(all); most-- {
		all = d.blocks(sections, most)
	}
	return all
}

func (d *drawing) fit(all []block) bool {
	end := d.y
	for i := range all {
		end += d.height(&all[i])
	}
	return end <= pageHeight-footHeight-5
}

// blocks cuts each value into lines, most of them at most.
func (d *drawing) blocks(sections []section, most int) (all []block) {
	d.ink("", d.scale.text, ink)
	for _, s := range sections {
		b := block{heading: s.heading}
		for _, r := range s.rows {
			b.rows = append(b.rows, lines{r.label, d.wrapped(r.value, pageWidth-2*margin-labels, most)})
		}
		all = append(all, b)
	}
	return all
}

func (d *drawing) height(b *block) float64 {
	h := d.scale.headingHeight + d.scale.sectionGap
	for _, r := range b.rows {
		h += float64(len(r.values))*d.scale.line + d.scale.rowGap
	}
	return h
}

func (d *drawing) section(b *block) {
	d.line(d.y, rule, 0.3)
	d.ink("B", d.scale.text+1, accent)
	d.Text(margin, d.y+0.65*d.scale.headingHeight, b.heading)
	y := d.y + d.scale.headingHeight - 1
	for _, r := range b.rows {
		d.ink("", d.scale.text, pale)
		d.Text(margin, y+d.scale.line, r.label)
		d.ink("", d.scale.text, ink)
		for _, v := range r.values {
			y += d.scale.line
			d.Text(margin+labels, y, v)
		}
		y += d.scale.rowGap
	}
	d.y += d.height(b)
}
