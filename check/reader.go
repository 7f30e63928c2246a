package check

import (
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Document is a robots.txt that is read in more than one way.
type Document struct {
	File     *acap.File
	Source   []byte
	Referred map[string]*acap.File // what its references led to, by URL; one that is missing could not be read
}

// NewDocument reads a robots.txt; url is where it stands, and what its fields name.
func NewDocument(url string, src []byte) *Document {
	return &Document{File: acap.Parse(url, src), Source: src}
}

// References are those that reach c, with what they led to.
func (d *Document) References(c acap.Crawler) []acap.Reference {
	refs := d.File.References(c)
	for i := range refs {
		refs[i].File = d.Referred[refs[i].URL]
	}
	return refs
}

// Reading is a way to understand a document: it gives what one crawler makes of it. It may be used by one goroutine at a time.
type Reading func(acap.Crawler) Judge

// Judge answers for one usage of one address.
type Judge func(acap.Usage, Address) Answer

// Answer is whether a usage is permitted, and by what.
type Answer struct {
	Allowed bool
	Reason  acap.Reason
	Because *acap.Field // nil where no line decided
	Note    string      // one clause that says more; may be empty
	Limits  acap.Limits // of what is permitted
	Unknown string      // why there is no answer; such a one differs from no other

	more func(*Answer) // finds by what, where that takes long; nil: it is known
}

// whole is the answer with by what.
func (a Answer) whole() Answer {
	if more := a.more; more != nil {
		a.more = nil
		more(&a)
	}
	return a
}

// ACAP is how a crawler reads that honours ACAP with the conventional records beside it. Dates are judged as of now.
func (d *Document) ACAP(now time.Time) Reading { return d.engine(d.File, now) }

// Alone is ACAP as if the conventional records were not there.
func (d *Document) Alone(now time.Time) Reading {
	return d.engine(acap.Parse(d.File.URL, d.kept(true)), now)
}

func (d *Document) engine(f *acap.File, now time.Time) Reading {
	own := Document{File: f, Referred: d.Referred}
	return func(c acap.Crawler) Judge {
		p := f.Policy(c, own.References(c)...)
		return func(u acap.Usage, at Address) Answer {
			facts := acap.Facts{Now: now}
			decision := p.Decide(u, at.resource)
			if over := decision.At(facts); over.Reason == acap.ByExpiry { // a reader is not known, and so no condition on one is looked at
				decision = over
			}
			return Answer{Allowed: decision.Allowed, Reason: decision.Reason, Because: decision.Because, Note: decision.Note,
				Limits: decision.Limits(facts)}
		}
	}
}

// Conventional is how a crawler reads that knows the Robots Exclusion Protocol alone (RFC 9309). Of other usages than crawl that says
// nothing: what it may crawl it takes to be permitted.
func (d *Document) Conventional() Reading {
	f := d.conventional()
	return func(c acap.Crawler) Judge {
		p := f.Policy(acap.Crawler{Names: c.Names})
		return func(u acap.Usage, at Address) Answer {
			decision := p.Decide(acap.Crawl, at.resource)
			return Answer{Allowed: decision.Allowed, Reason: decision.Reason, Because: decision.Because, Note: decision.Note}
		}
	}
}

// conventional returns the file without its ACAP lines.
func (d *Document) conventional() *acap.File { return acap.Parse(d.File.URL, d.kept(false)) }

// kept is the text with its ACAP lines alone, or without them. Every line stays where it is.
func (d *Document) kept(ofACAP bool) []byte {
	lines := d.File.Lines()
	for i, line := range lines {
		if speaksACAP(line) != ofACAP && !aside(line) {
			lines[i] = ""
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// speaksACAP reports whether a line begins as a field of ACAP, behind what counts as blanks (A17) and the mark of the specification's
// text (A08).
func speaksACAP(line string) bool {
	line = strings.TrimLeftFunc(line, blank)
	if len(line) > 6 && strings.EqualFold(line[:6], "[V1.1]") {
		line = strings.TrimLeftFunc(line[6:], blank)
	}
	return len(line) > 5 && strings.EqualFold(line[:5], "ACAP-")
}

// aside reports whether a line is a comment, or may be a qualifier of the field before it (A07): it is of no layer.
func aside(line string) bool {
	line = strings.TrimLeftFunc(line, blank)
	name, _, found := strings.Cut(line, "=")
	return strings.HasPrefix(line, "#") || found && !strings.Contains(name, ":")
}
