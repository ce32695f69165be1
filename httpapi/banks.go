package httpapi

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// bankNames maps the ISPBs of the largest participants to the names that people know.
var bankNames = map[string]string{
	"00000000": "Banco do Brasil",
	"00360305": "Caixa Econômica Federal",
	"00416968": "Banco Inter",
	"01181521": "Sicredi",
	"02038232": "Sicoob",
	"03012230": "Hipercard",
	"04902979": "Banco da Amazônia",
	"07237373": "Banco do Nordeste",
	"08561701": "PagSeguro",
	"09089356": "Efí",
	"10573521": "Mercado Pago",
	"13140088": "Acesso Soluções de Pagamento",
	"16501555": "Stone",
	"17192451": "Itaucard",
	"18236120": "Nu Pagamentos",
	"20018183": "Stark Bank",
	"22896431": "PicPay",
	"28195667": "Banco ABC Brasil",
	"30306294": "BTG Pactual",
	"31872495": "C6 Bank",
	"54811417": "Woovi",
	"58160789": "Banco Safra",
	"59588111": "Banco BV",
	"60701190": "Itaú Unibanco",
	"60746948": "Bradesco",
	"60872504": "Itaú Unibanco Holding",
	"62232889": "Banco Daycoval",
	"90400888": "Santander",
	"92702067": "Banrisul",
	"92894922": "Banco Original",
}

// Banks maps ISPBs to names, beside the built-in table. Where both have an ISPB, Banks counts.
type Banks map[string]string

// Name returns the name of the institution with this ISPB, or "" if neither table has it.
func (b Banks) Name(ispb string) string {
	if name, ok := b[ispb]; ok {
		return name
	}
	return bankNames[ispb]
}

// ReadBanks reads a list of participants as the central bank publishes them: the table of the
// participants of the STR (columns ISPB, Nome_Reduzido, …, separated by commas) or of PIX
// (Nome Reduzido;ISPB;…), in UTF-8 or Latin-1. Lines before the one that names the columns
// are skipped, and other columns too. An ISPB may lack its leading zeros. The error says which
// line is at fault.
func ReadBanks(r io.Reader) (Banks, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")); !utf8.Valid(text) {
		text = fromLatin1(text)
	}
	lines := csv.NewReader(bytes.NewReader(text))
	lines.FieldsPerRecord, lines.LazyQuotes, lines.TrimLeadingSpace = -1, true, true
	if bytes.Count(text, []byte(";")) > bytes.Count(text, []byte(",")) {
		lines.Comma = ';'
	}
	banks, ispb, name := Banks{}, -1, -1
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if ispb < 0 || name < 0 {
			ispb, name = column(fields, "ispb"), column(fields, "nomereduzido")
			continue
		}
		if len(fields) <= max(ispb, name) || fields[ispb] == "" {
			continue
		}
		id := fmt.Sprintf("%08s", fields[ispb])
		if !isISPB(id) || strings.TrimSpace(fields[name]) == "" {
			line, _ := lines.FieldPos(ispb)
			return nil, fmt.Errorf("line %d: %q, %q are not an ISPB and a name", line, fields[ispb], fields[name])
		}
		banks[id] = strings.TrimSpace(fields[name])
	}
	if len(banks) == 0 {
		return nil, errors.New("no line names the columns ISPB and Nome_Reduzido, or none follows it")
	}
	return banks, nil
}

// column returns the place of the column with this name, which is written in small letters
// alone; -1 if there is none.
func column(fields []string, name string) int {
	return slices.IndexFunc(fields, func(f string) bool {
		return strings.NewReplacer("_", "", " ", "").Replace(strings.ToLower(f)) == name
	})
}

// isISPB reports whether an id is an ISPB: eight digits or capital letters.
func isISPB(id string) bool {
	return len(id) == 8 && strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func fromLatin1(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, b := range text {
		out = utf8.AppendRune(out, rune(b))
	}
	return out
}
