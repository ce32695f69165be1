package httpapi

import (
	"maps"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestReadBanks reads lists in the forms that the central bank publishes.
func TestReadBanks(t *testing.T) {
	for name, v := range map[string]struct {
		text string
		want Banks
	}{
		"STR": {"\xef\xbb\xbfISPB,Nome_Reduzido,Número_Código,Participa_da_Compe,Acesso_Principal,Nome_Extenso,Início_da_Operação\r\n" +
			"00000000,BCO DO BRASIL S.A.,001,Sim,RSFN,Banco do Brasil S.A.                    ,22/04/2002\r\n" +
			"208,\"BRB, DF\",070,Sim,RSFN,BRB,22/04/2002\r\n", Banks{"00000000": "BCO DO BRASIL S.A.", "00000208": "BRB, DF"}},
		"PIX":     {"Lista de participantes ativos do Pix\r\n\r\nNome Reduzido;ISPB;CNPJ;Tipo\r\nCR\xc9DITO \"X\";12345678;12.345.678/0001-95;IP\r\nTotal;;;\r\n", Banks{"12345678": "CRÉDITO \"X\""}},
		"letters": {"ispb,nome reduzido\nAB12CD34, Novo Banco \n", Banks{"AB12CD34": "Novo Banco"}},
	} {
		got, err := ReadBanks(strings.NewReader(v.text))
		if err != nil || !maps.Equal(got, v.want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                     "no line names the columns",
		"a,b\n1,2\n":                           "no line names the columns",
		"ISPB,Nome_Reduzido\n":                 "no line names the columns",
		"ISPB,Nome_Reduzido\n1234567x,Banco\n": `line 2: "1234567x", "Banco" are not`,
		"ISPB,Nome_Reduzido\n\n123456789,B\n":  `line 3: "123456789", "B" are not`,
		"ISPB,Nome_Reduzido\n1,  \n":           `line 2: "1", "" are not`,
	} {
		if got, err := ReadBanks(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
}

// TestBankNames checks which table names a bank.
func TestBankNames(t *testing.T) {
	b := Banks{"60701190": "ITAÚ", "12345678": "Banco Um"}
	for ispb, want := range map[string]string{"60701190": "ITAÚ", "12345678": "Banco Um", "00000000": "Banco do Brasil", "87654321": ""} {
		if got := b.Name(ispb); got != want {
			t.Errorf("%s: %q, want %q", ispb, got, want)
		}
	}
	paid := &ledger.Transaction{ID: itemID, Kind: pix.TxReceipt, Status: pix.StatusCompleted, Counterparty: pix.Party{ISPB: "12345678"}}
	if got := string(Item(paid, b)); !strings.Contains(got, `"payer_ispb":"12345678","payer_bank_name":"Banco Um"`) {
		t.Error(got)
	}
	f := newFixture(t)
	f.banks, f.lists.all = b, []*ledger.Transaction{paid}
	f.handler = New(f.options())
	for _, path := range []string{statementPath, transactionsPath, transactionsPath + "/e2e/x"} {
		if g := f.send(sent{method: "GET", path: path}); !strings.Contains(g.body, `"payer_bank_name":"Banco Um"`) {
			t.Errorf("%s: %s", path, g.body)
		}
	}
}
