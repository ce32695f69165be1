package httpapi

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

// bankName returns the bank's name, or "" if bankNames does not have the ISPB.
func bankName(ispb string) string { return bankNames[ispb] }
