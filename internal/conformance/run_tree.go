package conformance

import (
	"path"
	"slices"
	"strings"
)

// Node is a part of what was tested: a document, a paragraph, a requirement or a reading, or a file
// of cases that belong to none of these. A case is counted once in each node to which it belongs.
type Node struct {
	Name   string `json:"name"`
	Title  string `json:"title,omitempty"`
	Cases  int    `json:"cases"` // number of cases that were run
	Passed int    `json:"passed"`

	// NotPassed lists the cases of a node without children that did not pass.
	NotPassed []string `json:"not_passed,omitempty"`

	Unobservable string `json:"unobservable,omitempty"` // for a requirement: why no case can test it
	Test         string `json:"test,omitempty"`         // for a requirement: the Go test of this program that tests it
	Parts        []Node `json:"parts,omitempty"`

	results map[*Result]bool
}

// others is the name of the node for cases that belong to no document.
const others = "other"

// Tree arranges the results by document, by paragraph, and by requirement or reading. Cases that
// belong to none of these are arranged by file. A case belongs to the requirements that name it,
// and to the paragraph or reading after which its file, or the case itself, is named. Documents and
// requirements are left out if none of their cases was run; requirements without cases stay.
func Tree(docs []Document, results []Result) []Node {
	b := grower{named: map[string][]*Result{}, placed: map[*Result]bool{}}
	for i := range results {
		r := &results[i]
		if r.Outcome == Skipped {
			continue
		}
		b.asked = append(b.asked, r)
		b.named["case "+r.Name] = append(b.named["case "+r.Name], r)
		at := r.Sample.Shows()
		b.named[at] = append(b.named[at], r)
	}
	var out []Node
	for _, d := range docs {
		if n := b.document(d); n.Cases > 0 {
			out = append(out, n)
		}
	}
	if n := b.rest(); n.Cases > 0 {
		out = append(out, n)
	}
	return out
}

// Shows returns the paragraph or reading that a case tests, as the case or its file name says:
// P1-2.4.6, F07. There may be no paragraph or reading of this name.
func (s *Sample) Shows() string {
	if s.Paragraph != "" {
		return strings.ReplaceAll(s.Paragraph, " ", "-")
	}
	name := path.Base(s.File)
	// file names of cases made against mutants begin with M-, those of random cases with R-
	for _, kind := range []string{"M-", "R-"} {
		name = strings.TrimPrefix(name, kind)
	}
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "P1-" + name
	}
	return name
}

// grower builds the tree of nodes from results.
type grower struct {
	asked  []*Result
	named  map[string][]*Result // results by "case " and name, and by paragraph or reading
	placed map[*Result]bool
}

func (b *grower) document(d Document) Node {
	n := Node{Name: d.Name, Title: d.Title}
	if d.Name == readings {
		for _, r := range d.Requirements {
			if part, told := b.requirement(r); told {
				n.Parts = append(n.Parts, part)
			}
		}
		n.sum()
		return n
	}
	for _, r := range d.Requirements {
		requirement, told := b.requirement(r)
		last := len(n.Parts) - 1
		if name := d.Name + " " + r.Section; last < 0 || n.Parts[last].Name != name {
			n.Parts = append(n.Parts, Node{Name: name})
			last++
		}
		if told {
			n.Parts[last].Parts = append(n.Parts[last].Parts, requirement)
		}
	}
	for i := range n.Parts {
		part := &n.Parts[i]
		part.sum()
		more := Node{Name: "further cases"}
		for _, r := range b.named[strings.ReplaceAll(part.Name, " ", "-")] {
			if !part.results[r] {
				b.put(&more, r)
			}
		}
		if more.Cases > 0 {
			part.Parts = append(part.Parts, more)
			part.sum()
		}
	}
	n.Parts = slices.DeleteFunc(n.Parts, func(part Node) bool { return len(part.Parts) == 0 })
	n.sum()
	return n
}

// requirement returns the node of a requirement. told is false if none of the cases of the
// requirement was run.
func (b *grower) requirement(r Requirement) (n Node, told bool) {
	n = Node{Name: r.ID, Title: r.Says, Unobservable: r.Unobservable, Test: r.Test}
	for _, name := range slices.Concat(r.Decides, r.Contrary) {
		for _, c := range b.named["case "+name] {
			b.put(&n, c)
		}
	}
	for _, c := range b.named[r.ID] {
		b.put(&n, c)
	}
	return n, n.Cases > 0 || len(r.Decides)+len(r.Contrary) == 0
}

// rest returns the node for the cases that belong to no document. Its children are the files of
// these cases.
func (b *grower) rest() Node {
	n := Node{Name: others, Title: "Cases that belong to no paragraph and no reading"}
	at := map[string]int{}
	for _, r := range b.asked {
		if b.placed[r] {
			continue
		}
		name := r.File
		if p := r.Sample.Paragraph; p != "" {
			name += ": " + p
		}
		i, known := at[name]
		if !known {
			i = len(n.Parts)
			at[name] = i
			n.Parts = append(n.Parts, Node{Name: name})
		}
		b.put(&n.Parts[i], r)
	}
	n.sum()
	return n
}

// put counts a result in the node n, which has no children.
func (b *grower) put(n *Node, r *Result) {
	b.placed[r] = true
	if n.add(r) && r.Outcome != Passed {
		n.NotPassed = append(n.NotPassed, r.Name)
	}
}

// add counts a result in n, unless n has counted it before. It reports whether it counted the
// result.
func (n *Node) add(r *Result) bool {
	if n.results[r] {
		return false
	}
	if n.results == nil {
		n.results = map[*Result]bool{}
	}
	n.results[r] = true
	n.Cases++
	if r.Outcome == Passed {
		n.Passed++
	}
	return true
}

// sum adds the counts of the children of n to the counts of n.
func (n *Node) sum() {
	for _, p := range n.Parts {
		for r := range p.results {
			n.add(r)
		}
	}
}

// Whole reports whether every case of the node has passed.
func (n *Node) Whole() bool { return n.Passed == n.Cases }

// Find returns the nodes, at any depth, whose names match a prefix: P1, "P1 2.4.6" with all
// paragraphs below it, P1-2.4.6-03, F for all readings with that letter, F07. It does not return
// the children of a matching node.
func Find(nodes []Node, prefix string) []Node {
	var out []Node
	for _, n := range nodes {
		if isPrefix(strings.ReplaceAll(prefix, " ", "-"), strings.ReplaceAll(n.Name, " ", "-")) {
			out = append(out, n)
			continue
		}
		out = append(out, Find(n.Parts, prefix)...)
	}
	return out
}

// isPrefix reports whether name begins with prefix. If prefix ends with a digit, the next character
// of name must not be a digit.
func isPrefix(prefix, name string) bool {
	rest, is := strings.CutPrefix(name, prefix)
	digit := func(s string, at int) bool { return s[at] >= '0' && s[at] <= '9' }
	return is && prefix != "" && (rest == "" || !digit(prefix, len(prefix)-1) || !digit(rest, 0))
}
