package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Bounds of a proof: decisions that are compared, and crawlers.
const (
	maxProved = 150_000
	maxNames  = 400
)

// proof compares what crawlers may do before and after a conversion, on examples.
type proof struct {
	paths  []place
	seen   map[string]bool
	names  []string
	remark []Remark
}

// place is an example, also as it is compared without regard to letter case.
type place struct {
	path            string
	resource, lower acap.Resource
}

// spelledOtherwise reports whether a pattern covers the place in another letter case alone.
func (p place) spelledOtherwise(pattern string) bool {
	_, normal, _ := resourceAt(p.path)
	return covers(pattern, normal) && !acap.NewGlob(pattern).Matches(normal)
}

// newProof takes examples of patterns and of what each two of them have in common, in several letter cases. names are those of
// crawlers; one that no record names is added.
func newProof(patterns, names []string) *proof {
	p := &proof{seen: map[string]bool{}, names: append(slices.Clone(names[:min(len(names), maxNames)]), unnamed(names))}
	if len(names) > maxNames {
		p.remark = append(p.remark, Remark{Code: "not-compared", Severity: acap.Notice, Message: fmt.Sprintf("of %d crawlers %d were compared before and after", len(names), maxNames)})
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
			if cut = len(p.paths)*len(p.names) > maxProved || spent > maxToil; cut {
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
	if most := maxProved / len(p.names); len(p.paths) > most {
		p.paths, cut = p.paths[:max(most, 100)], true
	}
	if cut {
		p.remark = append(p.remark, Remark{Code: "not-compared", Severity: acap.Notice,
			Message: fmt.Sprintf("before and after were compared on %d addresses, which are not all that the patterns and what they have in common make", len(p.paths))})
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

// ruling is how a file decides for a crawler.
type ruling func(acap.Usage, acap.Resource) bool

// rulingOf asks the policy that a file has for a crawler.
func rulingOf(f *acap.File, reference, name string) ruling {
	c := acap.Crawler{Names: []string{name}}
	refs := f.References(c)
	for i := range refs {
		refs[i].File = acap.ParseReferred(refs[i].URL, []byte(reference))
	}
	p := f.Policy(c, refs...)
	return func(u acap.Usage, r acap.Resource) bool { return p.Decide(u, r).Allowed }
}

// known reports whether a remark says that a path is decided otherwise for a crawler, "*" for any that is not named.
func known(remarks []Remark, name, path string) bool {
	return slices.ContainsFunc(remarks, func(r Remark) bool {
		return r.Severity != acap.Notice && r.Code != "lost" && r.Code != "by-header" &&
			slices.ContainsFunc(r.Crawlers, func(n string) bool { return strings.EqualFold(n, name) }) &&
			slices.ContainsFunc(r.Paths, func(p string) bool { return covers(p, path) })
	})
}

func parsed(text string) *acap.File { return acap.Parse(convertedSite+"/robots.txt", []byte(text)) }

// folded is a file whose conventional rules stand in lower case.
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

// prove compares the conventional reading of what was converted with ACAP alone, and with all that the result says.
func (t *toACAP) prove(out *Conversion) []Remark {
	var patterns, names []string
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
	p := newProof(patterns, names)
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
				byCase := is == wasFolded && (!is || !t.options.Ignore || t.options.AnyCase)
				if is != was && !byCase && (is || !known(out.Remarks, who, at.path)) {
					p.differs(name, u, at.path, is, "ACAP alone")
				}
			}
			if !was && whole(acap.Crawl, at.resource) && !(t.options.Ignore && t.options.AnyCase && wasFolded) {
				p.differs(name, acap.Crawl, at.path, true, "the converted file")
			}
		}
	}
	return p.remark
}

// maxDiffers bounds how many differences are told.
const maxDiffers = 20

func (p *proof) differs(name string, u acap.Usage, path string, is bool, by string) {
	if len(p.remark) >= maxDiffers {
		return
	}
	words := map[bool]string{true: "permits", false: "prohibits"}
	p.remark = append(p.remark, Remark{Code: "differs", Severity: acap.Error, Crawlers: []string{name}, Paths: []string{path},
		Message: fmt.Sprintf("%s of %s for %s: the file %s it, %s %s it", u, path, name, words[!is], by, words[is])})
}
