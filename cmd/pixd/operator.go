package main

import (
	"fmt"
	"net/http"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/cmd/terminal"
	"pixd/httpapi/admin"
)

func operatorCommand() *cobra.Command {
	f := &adminFlags{}
	add := operatorAdd.command(f)
	requireFlags(add, "role")
	return group("operator", "Give operators tokens of their own, and see what they did", "  pixd operator add ana --role operator", f,
		add, operatorList.command(f), operatorRevoke.command(f), operatorLog.command(f))
}

var operatorAdd = request{
	use:   "add NAME --role viewer|operator|admin",
	short: "Give an operator a token, and print it this once",
	long: "Gives an operator a token of their own and prints it. The engine keeps its hash alone: it can never be\n" +
		"shown again. A viewer reads; an operator also writes; an admin also manages operators, accepts a\n" +
		"doubted clock and hands a cluster over. The name stands with all that is done with the token. Who was\n" +
		"revoked gets a new token by the same command.",
	example: "  pixd operator add ana --role operator",
	of:      "the operator's name: letters, digits, and . _ - @ +", member: "name",
	method: http.MethodPost, path: "/admin/operators",
	fields: []field{{flag: "role", member: "role", kind: "", help: "what the operator may do, `viewer|operator|admin`"}},
	print: printing("no operator", func(o *admin.Operator) string {
		return operatorFacts(o) + "\nThe token is shown this once: keep it now. The engine has its hash alone.\n"
	}),
}

var operatorRevoke = request{
	use:     "revoke NAME",
	short:   "Make an operator's token invalid",
	long:    "Makes an operator's token invalid from now on. What the operator did stays on record.",
	example: "  pixd operator revoke ana",
	of:      "the operator's name, as `pixd operator list` has it",
	method:  http.MethodDelete, path: "/admin/operators/{id}", print: printing("no operator", operatorFacts),
}

var operatorList = listing[admin.Operator]{
	use:     "list",
	short:   "List the operators, with those who were revoked",
	long:    "Lists the operators by name, without their tokens, with those whose tokens were revoked.",
	example: "  pixd operator list",
	path:    "/admin/operators", show: operators,
}

func operators(all []admin.Operator) string {
	if len(all) == 0 {
		return "no operators\n"
	}
	return rows([]string{"name", "role", "state", "created", "revoked"}, all, func(o *admin.Operator) table.Row {
		return table.Row{terminal.Plain(o.Name), o.Role, tokenState(o), moment(o.CreatedAt), orElse(o.RevokedAt, "-", moment)}
	})
}

func tokenState(o *admin.Operator) string {
	if o.Active {
		return "active"
	}
	return "revoked"
}

func operatorFacts(o *admin.Operator) string {
	token := leftOut
	if o.Token != "" {
		token = o.Token
	}
	return facts([]fact{
		{"name", o.Name},
		{"role", o.Role},
		{"token", token},
		{"state", tokenState(o)},
		{"created", moment(o.CreatedAt)},
		{"revoked", orElse(o.RevokedAt, "-", moment)},
	})
}

var operatorLog = listing[admin.Action]{
	use:   "log",
	short: "List what operators asked for, the newest first",
	long: "Lists each write through the operator API: when, by whom, what was asked, and the status of the answer.\n" +
		"Root is whoever has the token of the token file. No status: the engine ended before the answer, and\n" +
		"the change may or may not have been made. --json has the requests' bodies.",
	example: "  pixd operator log --by ana",
	path:    "/admin/actions", show: actions,
	filters: []listFilter{{flag: "by", parameter: "operator", help: "only of the operator with this `NAME`"}},
}

func actions(all []admin.Action) string {
	if len(all) == 0 {
		return "no actions\n"
	}
	return rows([]string{"time", "operator", "role", "request", "status"}, all, func(a *admin.Action) table.Row {
		status := "-"
		if a.Status != nil {
			status = fmt.Sprint(*a.Status)
		}
		return table.Row{moment(a.At), terminal.Plain(a.Operator), a.Role, terminal.Plain(a.Method + " " + a.Path), status}
	})
}
