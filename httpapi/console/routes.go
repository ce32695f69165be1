package console

import "slices"

// allPages and allForms are all pages and forms besides those of logging in and out.
var (
	allPages = []pageRoute{
		{"", "overview", overview},
		{"/approvals", "approvals", approvals},
		{"/actions", "actions", actions},
	}
	allForms = []formRoute{
		{"/approvals", decide},
	}
)

// menu are the pages that every page leads to, in this order.
var menu = []string{"overview", "approvals", "actions"}

// entry is a page that the menu leads to.
type entry struct {
	Path, Word string
	Here       bool
}

// Menu are the pages that the page leads to.
func (v *visit) Menu() (all []entry) {
	for _, name := range menu {
		i := slices.IndexFunc(allPages, func(p pageRoute) bool { return p.name == name })
		all = append(all, entry{allPages[i].path, name, v.Page == name})
	}
	return all
}
