package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Limits of a proof: how many decisions and how many crawlers are compared.
const (
	maxProved = 150_000
	maxNames  = 400
)

// proof compares what crawlers may do before and after a conversion, for a number of example paths.
type proof struct {
	paths  []place
	seen   map[string]bool
	names  []string
	remark []Remark
}

// place is an example of a path, both as written and in lower case.
type place struct {
	path            string
	resource, lower acap.Resource
}

// spelledOtherwise reports whether a pattern covers the place only in another letter case than that
// of the place.
func (p place) spelledOtherwise(pattern string) bool {
	_, normal, _ := resourceAt(p.path)
	return covers(pattern, normal) && !acap.NewGlob(pattern).Matches(normal)
}

// newProof returns a proof with examples of all patterns, and of the intersection of each two
// patterns, in several letter cases. It compares the decisions for the crawlers in names, and for
// one crawler that no record names. most is how many decisions are compared at most.
func newProof(patterns, names []string, most int) *proof {
	p := &proof{seen: map[string]bool{}, names: append(slices.Clone(names[:min(len(names), maxNames)]), unnamed(names))}
	if len(names) > maxNames {
		p.remark = append(p.remark, Remark{Code: "not-compared", Severity: acap.Notice,
			Message: fmt.Sprintf("of %d crawlers %d were compared before and after", len(names), maxNames)})
	}
	p.add("/")
	p.add("/index.html")
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	for _, pattern := range patterns {
		p.examples(pattern)
	}
	lower := make([]string, len(patterns))
	for i, pattern := range patterns {
		lower[i] = acap.Folded(pattern)
	}
	spent, cut := 0, false
	for i, a := range patterns {
		for j, b := range patterns {
			if cut = len(p.paths)*len(p.names) > most || spent > maxToil; cut {
				break
			}
			if spent++; i == j || apart(lower[i], lower[j]) {
				continue
			}
			spent += toil(a, b)
			both, _ := inCommon(a, b)
			otherwise, _ := inCommon(a, swapCase(b))
			for _, m := range append(both, otherwise...) {
				p.examples(m)
			}
		}
	}
	if each := most / len(p.names); len(p.paths) > each {
		p.paths, cut = p.paths[:max(each, 100)], true
	}
	if cut {
		p.remark = append(p.remark, Remark{Code: "not-compared", Severity: acap.Notice,
			Message: fmt.Sprintf("before and after were compared on %d addresses, which are not all that the "+
				"patterns and what they have in common make", len(p.paths))})
	}
	return p
}

func (p *proof) examples(pattern string) {
	for _, path := range examplesOf(pattern) {
		p.add(path)
		p.add(acap.Folded(path))
		p.add(swapCase(path))
	}
}

func (p *proof) add(path string) {
	if p.seen[path] {
		return
	}
	p.seen[path] = true
	r, _, ok := resourceAt(path)
	lower, _, also := resourceAt(acap.Folded(path))
	if ok && also {
		p.paths = append(p.paths, place{path, r, lower})
	}
}

// ruling reports whether a file permits a usage of a resource to one crawler.
type ruling func(acap.Usage, acap.Resource) bool

// rulingOf returns the decisions of the file f for the crawler with the given name. reference is
// the text of the file to which f refers.
func rulingOf(f *acap.File, reference, name string) ruling {
	c := acap.Crawler{Names: []string{name}}
	refs := f.References(c)
	for i := range refs {
		refs[i].File = acap.ParseReferred(refs[i].URL, []byte(reference))
	}
	p := f.Policy(c, refs...)
	return func(u acap.Usage, r acap.Resource) bool { return p.Decide(u, r).Allowed }
}

// known reports whether a remark already says that the decision about a path is different for the
// crawler name after the conversion. The name "*" means a crawler that no record names.
func known(remarks []Remark, name, path string) bool {
	return slices.ContainsFunc(remarks, func(r Remark) bool {
		return r.Severity != acap.Notice && r.Code != "lost" && r.Code != "by-header" &&
			slices.ContainsFunc(r.Crawlers, func(n string) bool { return strings.EqualFold(n, name) }) &&
			slices.ContainsFunc(r.Paths, func(p string) bool { return covers(p, path) })
	})
}

func parsed(text string) *acap.File { return acap.Parse(convertedSite+"/robots.txt", []byte(text)) }

// folded returns a file that contains the conventional rules of f in lower case.
func folded(f *acap.File) *acap.File {
	var b strings.Builder
	for _, g := range f.Groups() {
		for _, a := range g.Agents {
			fmt.Fprintf(&b, "User-agent: %s\n", a)
		}
		b.WriteString("Crawl-delay: 0\n")
		for _, r := range g.Rules {
			word := "Disallow"
			if r.Allow {
				word = "Allow"
			}
			fmt.Fprintf(&b, "%s: %s\n", word, acap.Folded(r.Pattern))
		}
		if len(g.Rules) == 0 {
			b.WriteString("Disallow:\n")
		}
	}
	return parsed(b.String())
}

// prove compares the decisions of three files: the original, the result with only its ACAP records,
// and the whole result.
func (t *toACAP) prove(out *Conversion) []Remark {
	patterns, names := t.patternsAndNames()
	p := newProof(patterns, names, maxProved)
	o := t.options
	o.Ignore = true
	alone, aloneReference := t.text(o)
	aloneFile, wholeFile, plain := parsed(alone), parsed(out.Robots), folded(t.file)
	for _, name := range p.names {
		who := name
		if name == p.names[len(p.names)-1] {
			who = "*"
		}
		before, beforeFolded := rulingOf(t.file, "", name), rulingOf(plain, "", name)
		after, whole := rulingOf(aloneFile, aloneReference, name), rulingOf(wholeFile, out.Reference, name)
		for _, at := range p.paths {
			was, wasFolded := before(acap.Crawl, at.resource), beforeFolded(acap.Crawl, at.lower)
			for _, u := range o.Usages {
				is := after(u, at.resource)
				if is != was && !t.changesByCase(is, wasFolded) && (is || !known(out.Remarks, who, at.path)) {
					p.differs(name, u, at.path, is, "only ACAP")
				}
			}
			if !was && whole(acap.Crawl, at.resource) && !(t.options.Ignore && t.options.AnyCase && wasFolded) {
				p.differs(name, acap.Crawl, at.path, true, "the converted file")
			}
		}
	}
	return p.remark
}

// patternsAndNames returns all patterns and all crawler names of the records.
func (t *toACAP) patternsAndNames() (patterns, names []string) {
	for _, r := range t.records {
		if r.names[0] != "*" {
			names = append(names, r.names...)
		}
		for _, rule := range r.rules {
			patterns = append(patterns, rule.Pattern)
		}
		for _, it := range r.items {
			patterns = append(patterns, it.pattern)
		}
	}
	return patterns, names
}

// changesByCase reports whether a decision of the converted file may differ from the decision of
// the original file because ACAP ignores letter case.
func (t *toACAP) changesByCase(is, wasFolded bool) bool {
	return is == wasFolded && (!is || !t.options.Ignore || t.options.AnyCase)
}

// maxDiffers is how many differences are reported at most.
const maxDiffers = 20

func (p *proof) differs(name string, u acap.Usage, path string, is bool, by string) {
	if len(p.remark) >= maxDiffers {
		return
	}
	words := map[bool]string{true: "permits", false: "prohibits"}
	p.remark = append(p.remark, Remark{Code: "differs", Severity: acap.Error, Crawlers: []string{name},
		Paths:   []string{path},
		Message: fmt.Sprintf("%s of %s for %s: the file %s it, %s %s it", u, path, name, words[!is], by, words[is])})
}
