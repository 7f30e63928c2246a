package conformance

import (
	"path"
	"slices"
	"strings"
)

// Node is a part of what was tried: a document, a paragraph of it, a requirement or a reading, or a
// file of cases that belong to none of these. A case counts once in each node that it shows
// something of.
type Node struct {
	Name   string `json:"name"`
	Title  string `json:"title,omitempty"`
	Cases  int    `json:"cases"` // that were asked
	Passed int    `json:"passed"`

	// NotPassed returns the failed cases of a node without children.
	NotPassed []string `json:"not_passed,omitempty"`

	Unobservable string `json:"unobservable,omitempty"` // of a requirement: why no case can show it
	Test         string `json:"test,omitempty"`         // of a requirement: the Go test of this program that shows it
	Parts        []Node `json:"parts,omitempty"`

	results map[*Result]bool
}

// others is the node of cases that show nothing known.
const others = "other"

// Tree puts the results in order: by document, by paragraph, by requirement or reading, and then by
// file those that belong to none. A case belongs to the requirements that name it, and to the
// paragraph or reading that its file, or the case itself, is called after. Documents of which no
// case was asked are left out, and requirements that have cases of which none was.
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

// Shows returns the paragraph or reading of a case, by its own statement or its file: P1-2.4.6,
// F07. It need not exist.
func (s *Sample) Shows() string {
	if s.Paragraph != "" {
		return strings.ReplaceAll(s.Paragraph, " ", "-")
	}
	name := path.Base(s.File)
	for _, kind := range []string{"M-", "R-"} { // cases against mutants, and random ones
		name = strings.TrimPrefix(name, kind)
	}
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "P1-" + name
	}
	return name
}

// grower builds nodes from results.
type grower struct {
	asked  []*Result
	named  map[string][]*Result // by "case " and name, and by what they show
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

// requirement returns the node of a requirement; told is false if none of its cases was run.
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

// rest returns the cases that belong to nothing, by file.
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

// put counts a result in a node without children.
func (b *grower) put(n *Node, r *Result) {
	b.placed[r] = true
	if n.add(r) && r.Outcome != Passed {
		n.NotPassed = append(n.NotPassed, r.Name)
	}
}

// add counts a result once, and reports whether it did.
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

// sum adds the counts of the children.
func (n *Node) sum() {
	for _, p := range n.Parts {
		for r := range p.results {
			n.add(r)
		}
	}
}

// Whole reports whether every case of the node has passed.
func (n *Node) Whole() bool { return n.Passed == n.Cases }

// Find gives the nodes, of those and of their parts, that a prefix names: P1, "P1 2.4.6" with all
// paragraphs below it, P1-2.4.6-03, F for all readings with that letter, F07. Of a node that it
// names the parts are not given as well.
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

// isPrefix reports whether a name begins with a prefix that does not end within a number.
func isPrefix(prefix, name string) bool {
	rest, is := strings.CutPrefix(name, prefix)
	digit := func(s string, at int) bool { return s[at] >= '0' && s[at] <= '9' }
	return is && prefix != "" && (rest == "" || !digit(prefix, len(prefix)-1) || !digit(rest, 0))
}
