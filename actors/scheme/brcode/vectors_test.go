package brcode

import (
	"errors"
	"strings"
	"testing"
)

// published are codes that others have published: the central bank in its manual and API
// description, and well-known producers in their documentation.
var published = []struct {
	name, text string
	want       Code
}{
	{
		"manual, static", "00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D",
		Code{Key: "123e4567-e12b-12d1-a456-426655440000", Name: "Fulano de Tal", City: "BRASILIA"},
	},
	{
		"manual, dynamic", "00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630464E4",
		Code{URL: "pix.example.com/8b3da2f39a4140d1a91abd93113bd441", Name: "Fulano de Tal", City: "BRASILIA", OneTime: true},
	},
	{
		"API description, composite", "00020101021226760014br.gov.bcb.pix2554pix.example.com/qr/v2/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***80800014br.gov.bcb.pix2558pix.example.com/qr/v2/rec/94ed2badcbc04c15b0bb7fa35319489063047741",
		Code{
			URL:        "pix.example.com/qr/v2/8b3da2f39a4140d1a91abd93113bd441",
			Recurrence: "pix.example.com/qr/v2/rec/94ed2badcbc04c15b0bb7fa353194890",
			Name:       "Fulano de Tal", City: "BRASILIA", OneTime: true,
		},
	},
	{
		"e-mail key, description and amount", "00020126510014br.gov.bcb.pix0115thalesog@me.com0210Pedido 123520400005303986540510.005802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***63040DC6",
		Code{Key: "thalesog@me.com", Description: "Pedido 123", Name: "THALES OGLIARI", City: "SAO MIGUEL DO O", AmountCentavos: 1000},
	},
	{
		"dynamic, one-time", "00020101021226740014br.gov.bcb.pix2552payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e875204000053039865802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***63042895",
		Code{URL: "payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e87", Name: "THALES OGLIARI", City: "SAO MIGUEL DO O", OneTime: true},
	},
	{
		"upper-case scheme name", "00020101021226770014BR.GOV.BCB.PIX2555pix.example.com/qr/93598be0-1bd0-4997-8318-81776a1d8a995204000053039865802BR5907EMPRESA6009SAO PAULO62070503***6304EEAB",
		Code{URL: "pix.example.com/qr/93598be0-1bd0-4997-8318-81776a1d8a99", Name: "EMPRESA", City: "SAO PAULO", OneTime: true},
	},
}

func TestParsePublished(t *testing.T) {
	for _, v := range published {
		t.Run(v.name, func(t *testing.T) {
			got, err := Parse(v.text)
			if err != nil || got != v.want {
				t.Fatalf("Parse = %+v, %v\nwant %+v", got, err, v.want)
			}
		})
	}
}

// TestTextPublished checks that Text makes the published texts of two codes from the codes'
// data.
func TestTextPublished(t *testing.T) {
	for _, i := range []int{0, 3} {
		c := published[i].want
		text, err := Static{Key: c.Key, Description: c.Description, Name: c.Name, City: c.City, AmountCentavos: c.AmountCentavos}.Text()
		if err != nil || text != published[i].text {
			t.Errorf("Text = %s, %v\nwant   %s", text, err, published[i].text)
		}
	}
}

func TestCRC(t *testing.T) {
	if got := CRC("123456789"); got != 0x29B1 {
		t.Errorf("check value %04X, want 29B1", got)
	}
	if got := CRC(""); got != 0xFFFF {
		t.Errorf("CRC of nothing %04X, want FFFF", got)
	}
}

const (
	wrongCRC  = "00020101021226900014br.gov.bcb.pix2568api.woovi.com/api/testaccount/qr/v1/db85f0c5380c493b8eb3cf6b6780fd98520400005303986540550.005802BR5909admin_dev6009Sao_Paulo62290525db85f0c5380c493b8eb3cf6b663046A80"
	withHTTPS = "00020126540014br.gov.bcb.pix2532https://pix.thalesogliari.com.br5204000053039865802BR5914Thales Ogliari6009SAO PAULO62070503***63043FD3"
	badLength = "00020101021226800014br.gov.bcb.pix2558invoice.starkbank.com/f5333103-3279-4db2-8389-5efe335ba93d5204000053039865802BR5913Arya Stark6009Sao Paulo6220051656565656565656566304A9A0"
)

// seal returns a code's fields with their CRC appended.
func seal(fields string) string { return fields + crcHead + crcDigits(fields+crcHead) }

const (
	head   = "000201"
	pixKey = "26330014br.gov.bcb.pix0111abc@def.com"
	middle = "5204000053039865802BR5901N6001C"
	tail   = "62070503***"
)

func TestParseRefuses(t *testing.T) {
	static := published[0].text
	for name, text := range map[string]string{
		"published: https in the URL":   withHTTPS,
		"published: a wrong length":     badLength,
		"empty":                         "",
		"CRC field alone":               "6304",
		"no CRC":                        static[:len(static)-8],
		"not ASCII":                     seal(head + pixKey + "5204000053039865802BR5902é6001C" + tail),
		"longer than 512":               seal(head + pixKey + middle + tail + strings.Repeat("6499"+strings.Repeat("a", 99), 5)),
		"00 not first":                  seal(pixKey + head + middle + tail),
		"00 not 01":                     seal("000202" + pixKey + middle + tail),
		"a field twice":                 seal(head + pixKey + middle + "5901N" + tail),
		"a second CRC":                  seal(head + pixKey + middle + tail + "63041234"),
		"an empty value":                seal(head + pixKey + "5204000053039865802BR59006001C" + tail),
		"id not digits":                 seal(head + "A101x" + pixKey + middle + tail),
		"length not digits":             seal(head + "64+1x" + pixKey + middle + tail),
		"01 unknown":                    seal(head + "010213" + pixKey + middle + tail),
		"key and URL":                   seal(head + "26430014br.gov.bcb.pix0111abc@def.com2506a.com/" + middle + tail),
		"neither key nor URL":           seal(head + "26180014br.gov.bcb.pix" + middle + tail),
		"another scheme's template":     seal(head + "26330014br.gov.bcb.xxx0111abc@def.com" + middle + tail),
		"no template":                   seal(head + middle + tail),
		"two Pix templates":             seal(head + pixKey + "27330014br.gov.bcb.pix0111abc@def.com" + middle + tail),
		"template not well-formed":      seal(head + "26330014br.gov.bcb.pix0112abc@def.com" + middle + tail),
		"space in the key":              seal(head + "26330014br.gov.bcb.pix0111abc def.com" + middle + tail),
		"facilitator not an ISPB":       seal(head + "26450014br.gov.bcb.pix0111abc@def.com03081234567a" + middle + tail),
		"amount without decimals":       seal(head + pixKey + "540210" + middle + tail),
		"amount with one decimal":       seal(head + pixKey + "540410.0" + middle + tail),
		"amount with a comma":           seal(head + pixKey + "540510,00" + middle + tail),
		"amount without reais":          seal(head + pixKey + "5403.10" + middle + tail),
		"amount of eleven digits":       seal(head + pixKey + "541412345678901.00" + middle + tail),
		"negative amount":               seal(head + pixKey + "5405-1.00" + middle + tail),
		"amount with two points":        seal(head + pixKey + "54061.0.00" + middle + tail),
		"another currency":              seal(head + pixKey + "5204000053038405802BR5901N6001C" + tail),
		"another country":               seal(head + pixKey + "5204000053039865802US5901N6001C" + tail),
		"category not digits":           seal(head + pixKey + "5204000A53039865802BR5901N6001C" + tail),
		"no name":                       seal(head + pixKey + "5204000053039865802BR6001C" + tail),
		"name of 26":                    seal(head + pixKey + "5204000053039865802BR5926" + strings.Repeat("N", 26) + "6001C" + tail),
		"city of 16":                    seal(head + pixKey + "5204000053039865802BR5901N6016" + strings.Repeat("C", 16) + tail),
		"no txid":                       seal(head + pixKey + middle),
		"62 without 05":                 seal(head + pixKey + middle + "62070603***"),
		"txid of 26":                    seal(head + pixKey + middle + "62300526" + strings.Repeat("a", 26)),
		"txid with a hyphen":            seal(head + pixKey + middle + "62070503a-b"),
		"recurrence without a URL":      seal(head + pixKey + middle + tail + "80180014br.gov.bcb.pix"),
		"URL with http":                 seal(head + "26350014br.gov.bcb.pix2513http://a.com/" + middle + tail),
		"a template that is not TLV":    seal(head + "2601x" + pixKey[:0] + middle + tail),
		"text that ends within a field": "0002016304ABC",
	} {
		t.Run(name, func(t *testing.T) {
			var bad *Malformed
			if c, err := Parse(text); !errors.As(err, &bad) {
				t.Errorf("Parse = %+v, %v; want a *Malformed", c, err)
			}
		})
	}
}

func TestParseCRC(t *testing.T) {
	static := published[0].text
	for name, text := range map[string]string{
		"published":          wrongCRC,
		"one letter changed": strings.Replace(static, "Fulano", "Fulana", 1),
		"lower-case digits":  static[:len(static)-4] + "1d3d",
		"zero":               static[:len(static)-4] + "0000",
	} {
		if _, err := Parse(text); !errors.Is(err, ErrCRC) {
			t.Errorf("%s: %v, want ErrCRC", name, err)
		}
	}
}

func TestParseTakes(t *testing.T) {
	key := Code{Key: "abc@def.com", Name: "N", City: "C"}
	with := func(change func(*Code)) Code { c := key; change(&c); return c }
	for name, v := range map[string]struct {
		text string
		want Code
	}{
		"least":              {seal(head + pixKey + middle + tail), key},
		"template in 51":     {seal(head + "51" + pixKey[2:] + middle + tail), key},
		"after another's":    {seal(head + "26090005other" + "27" + pixKey[2:] + middle + tail), key},
		"reusable":           {seal(head + "010211" + pixKey + middle + tail), key},
		"fields without use": {seal(head + "0403abc" + pixKey + middle + "610512345" + tail + "6403xyz"), key},
		"facilitator":        {seal(head + "26450014br.gov.bcb.pix0111abc@def.com030899999A03" + middle + tail), with(func(c *Code) { c.Facilitator = "99999A03" })},
		"greatest amount":    {seal(head + pixKey + "54139999999999.99" + middle + tail), with(func(c *Code) { c.AmountCentavos = MaxAmount })},
		"least amount":       {seal(head + pixKey + "54040.01" + middle + tail), with(func(c *Code) { c.AmountCentavos = 1 })},
		"txid":               {seal(head + pixKey + middle + "62070503aZ9"), with(func(c *Code) { c.TxID = "aZ9" })},
	} {
		if got, err := Parse(v.text); err != nil || got != v.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
