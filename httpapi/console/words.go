package console

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// language is one of the console's languages.
type language string

const (
	portuguese language = "pt-BR"
	english    language = "en"
)

// languageOf returns the language that a request asks for: by its cookie, else by Accept-Language; Portuguese
// where it asks for neither.
func languageOf(ctx *fasthttp.RequestCtx) language {
	asked := string(ctx.Request.Header.Cookie("pixd_lang"))
	if asked == "" {
		asked = string(ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage))
	}
	if strings.HasPrefix(strings.ToLower(asked), "en") {
		return english
	}
	return portuguese
}

// words has each text of the console in Portuguese and in English.
var words = map[string][2]string{
	"overview":     {"Visão geral", "Overview"},
	"approvals":    {"Aprovações", "Approvals"},
	"accounts":     {"Contas", "Accounts"},
	"actions":      {"Registro", "Record"},
	"transaction":  {"Transação", "Transaction"},
	"login":        {"Entrar", "Log in"},
	"logout":       {"Sair", "Log out"},
	"token":        {"Chave de operador", "Operator's token"},
	"login_wrong":  {"Chave desconhecida ou revogada.", "The token is unknown, or was revoked."},
	"login_wait":   {"Muitas tentativas. Aguarde um minuto.", "Too many attempts. Wait a minute."},
	"approve":      {"Aprovar", "Approve"},
	"decline":      {"Recusar", "Decline"},
	"approved":     {"Aprovado: %d", "Approved: %d"},
	"declined":     {"Recusado: %d", "Declined: %d"},
	"first":        {"Aprovado por você: %d; falta outro operador", "Approved by you: %d; another operator must approve too"},
	"nothing":      {"Nada aguarda.", "Nothing waits."},
	"none_chosen":  {"Escolha ao menos um.", "Choose at least one."},
	"unknown":      {"%s: não se sabe se foi feito. Consulte antes de repetir.", "%s: nobody knows whether it was done. Look before you repeat it."},
	"amount":       {"Valor", "Amount"},
	"account":      {"Conta", "Account"},
	"recipient":    {"Destinatário", "Recipient"},
	"since":        {"Desde", "Since"},
	"by":           {"Aprovado por", "Approved by"},
	"name":         {"Nome", "Name"},
	"document":     {"Documento", "Document"},
	"balance":      {"Saldo", "Balance"},
	"available":    {"Disponível", "Available"},
	"pending":      {"Bloqueado", "Held"},
	"med_held":     {"Bloqueado por MED", "Held for MED"},
	"state":        {"Situação", "State"},
	"active":       {"ativa", "active"},
	"inactive":     {"inativa", "inactive"},
	"next":         {"Próxima página", "Next page"},
	"search":       {"Buscar", "Search"},
	"id":           {"Identificador", "Id"},
	"operator":     {"Operador", "Operator"},
	"time":         {"Hora", "Time"},
	"request":      {"Pedido", "Request"},
	"status":       {"Resposta", "Answer"},
	"waiting":      {"Aguardam aprovação", "Wait for approval"},
	"sending":      {"Em envio", "Being sent"},
	"queued":       {"Na fila do diretório", "In the directory's queue"},
	"menu":         {"Páginas", "Pages"},
	"skip":         {"Ir para o conteúdo", "Skip to the content"},
	"viewer_reads": {"Seu perfil só permite leitura.", "Your role may read alone."},
}

// say returns a text in the view's language.
func (l language) say(key string, args ...any) string {
	both, ok := words[key]
	if !ok {
		return key // a text of the operator API
	}
	text := both[0]
	if l == english {
		text = both[1]
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// functions are what the pages call.
var functions = template.FuncMap{
	"say":    func(l language, key string, args ...any) string { return l.say(key, args...) },
	"money":  money,
	"moment": moment,
	"masked": masked,
}

// money writes an amount as people do: R$ 1.234,56 and, with two more digits where they are not zero, R$ 0,0001.
func money(l language, a pix.Amount) string {
	sign, n := "", int64(a)
	if n < 0 {
		sign, n = "-", -n
	}
	whole, part := fmt.Sprint(n/10_000), fmt.Sprintf("%04d", n%10_000)
	part = part[:2] + strings.TrimRight(part[2:], "0")
	point, comma := ".", ","
	if l == english {
		point, comma = ",", "."
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + point + whole[i:]
	}
	return sign + "R$ " + whole + comma + part
}

// brasilia is three hours behind UTC, all the year since 2019.
var brasilia = time.FixedZone("BRT", -3*60*60)

// moment writes an instant of the operator API in Brasília's time and in UTC's.
func moment(l language, text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	form := "02/01/2006 15:04:05"
	if l == english {
		form = time.DateTime
	}
	return t.In(brasilia).Format(form) + " (" + t.UTC().Format("15:04 UTC") + ")"
}

// masked hides a document but for its middle: ***.456.789-** of a CPF, and the first eight characters of a CNPJ.
func masked(document string) string {
	switch len(document) {
	case 11:
		return "***." + document[3:6] + "." + document[6:9] + "-**"
	case 14:
		return document[:2] + "." + document[2:5] + "." + document[5:8] + "/****-**"
	}
	return "***"
}
