package page

import (
	"slices"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Keep reports whether a part of a page may be used. chain contains the marks (class statements) of
// the elements around that part, the outermost first. With a nil chain, Keep reports whether the
// page itself may be used. Marks on HTML and BODY are in the chain of every part of the body, with
// their Place. Keep is called once for each marked element, and for no other element.
type Keep func(chain []acap.Mark) bool

// Cut describes the parts of a page that a usage must not see. The zero Cut permits everything.
type Cut struct {
	Keep    Keep // nil: everything may be used
	Snippet bool // also leave out elements with data-nosnippet
}

// scope caches the results of Keep for the nodes of one tree under one Cut. It belongs to one call
// and is not shared.
type scope struct {
	tree *tree
	cut  Cut
	page bool                // result of Keep for the page itself
	memo map[*html.Node]bool // results for the content of marked elements
}

func (t *tree) scope(c Cut) *scope {
	return &scope{tree: t, cut: c, page: c.keeps(nil), memo: map[*html.Node]bool{}}
}

func (c Cut) keeps(chain []acap.Mark) bool { return c.Keep == nil || c.Keep(chain) }

// at reports whether the direct content of n may be used.
func (s *scope) at(n *html.Node) bool {
	if len(s.tree.marks) == 0 || s.cut.Keep == nil {
		return s.page
	}
	for ; n != nil; n = n.Parent {
		if s.tree.marks[n] == nil {
			continue
		}
		kept, known := s.memo[n]
		if !known {
			chain, judged := s.tree.chain(n)
			kept = judged && s.cut.Keep(chain)
			s.memo[n] = kept
		}
		return kept
	}
	return s.page
}

// none reports whether no part of the page can be used.
func (s *scope) none() bool { return !s.page && len(s.tree.marks) == 0 }

// hides reports whether n and all its content are left out, whatever its marks say.
func (s *scope) hides(n *html.Node) bool {
	return s.cut.Snippet && has(n.Attr, "data-nosnippet")
}

// maxChain is the maximum number of marks around one element. A page with more is treated as a page
// that must not be crawled, because deciding each element by all marks around it takes quadratic
// time.
const maxChain = 256

// chain returns the marks in force at n, outermost first; ok is false if there are more than
// maxChain.
func (t *tree) chain(n *html.Node) (chain []acap.Mark, ok bool) {
	for ; n != nil; n = n.Parent {
		if len(chain)+len(t.marks[n]) > maxChain {
			return nil, false
		}
		for _, m := range slices.Backward(t.marks[n]) {
			chain = append(chain, m)
		}
	}
	slices.Reverse(chain)
	return chain, true
}

// tangled returns a mark of the first element inside more than maxChain marks, nil if there is
// none.
func (t *tree) tangled() *acap.Mark {
	if len(t.listed) <= maxChain {
		return nil
	}
	for _, n := range t.marked {
		if _, ok := t.chain(n); !ok {
			return &t.marks[n][0]
		}
	}
	return nil
}

// walk visits root and its descendants in document order. If enter returns false, the children are
// skipped; leave is called for every node that was entered.
func walk(root *html.Node, enter func(*html.Node) bool, leave func(*html.Node)) {
	if root == nil {
		return
	}
	n := root
	for {
		if enter(n) && n.FirstChild != nil {
			n = n.FirstChild
			continue
		}
		for {
			leave(n)
			if n == root {
				return
			}
			if n.NextSibling != nil {
				n = n.NextSibling
				break
			}
			n = n.Parent
		}
	}
}

func has(attrs []html.Attribute, key string) bool {
	return slices.ContainsFunc(attrs, func(a html.Attribute) bool { return a.Key == key && a.Namespace == "" })
}

// attr returns the value of an attribute, "" if there is none.
func attr(attrs []html.Attribute, key string) string {
	for _, a := range attrs {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}
