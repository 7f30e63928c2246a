package check

import (
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Document is a robots.txt that several readings can be applied to.
type Document struct {
	File     *acap.File
	Source   []byte
	Referred map[string]*acap.File // the files to which File refers, by URL; a file that could not be read is missing

	Vocabularies []acap.Vocabulary // the newer vocabularies in which the document is read
	Files        []acap.Reference  // the files of these vocabularies; one that is missing was not read
}

// NewDocument parses src as the robots.txt at url.
func NewDocument(url string, src []byte) *Document {
	return &Document{File: acap.Parse(url, src), Source: src}
}

// References returns the references that apply to the crawler c, with their files.
func (d *Document) References(c acap.Crawler) []acap.Reference {
	refs := d.File.References(c)
	for i := range refs {
		refs[i].File = d.Referred[refs[i].URL]
	}
	return refs
}

// Reading is a way to understand a document: it returns the function that decides for one crawler.
// Do not use a Reading in several goroutines at the same time.
type Reading func(acap.Crawler) Judge

// Judge returns the decision on one usage of one address.
type Judge func(acap.Usage, Address) Answer

// Answer says whether a usage is permitted, and why.
type Answer struct {
	Allowed bool
	Reason  acap.Reason
	Because *acap.Field // the field that decided; nil if no line decided
	Note    string      // one clause that adds a detail; may be empty
	Limits  acap.Limits // the limits of a permission
	// the reason why there is no answer, otherwise ""; an unknown answer differs from no other
	// answer
	Unknown string

	// more sets the line that decided, and is called only when this line is needed, because finding
	// it takes long. more is nil if the line is known.
	more func(*Answer)
}

// whole returns the answer with the line that decided.
func (a Answer) whole() Answer {
	if more := a.more; more != nil {
		a.more = nil
		more(&a)
	}
	return a
}

// ACAP returns the reading of a crawler that obeys ACAP and conventional records. It compares dates
// with now.
func (d *Document) ACAP(now time.Time) Reading { return d.engine(d.File, now) }

// Alone returns the reading ACAP, but without the conventional records.
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
			// of the conditions only the expiry date is checked, because the reader is unknown
			if over := decision.At(facts); over.Reason == acap.ByExpiry {
				decision = over
			}
			return Answer{Allowed: decision.Allowed, Reason: decision.Reason, Because: decision.Because,
				Note:   decision.Note,
				Limits: decision.Limits(facts)}
		}
	}
}

// Conventional returns the reading of a crawler that obeys only the Robots Exclusion Protocol (RFC
// 9309). For this crawler, each other usage is permitted if crawl is permitted.
func (d *Document) Conventional() Reading {
	f := d.conventional()
	return func(c acap.Crawler) Judge {
		p := f.Policy(acap.Crawler{Names: c.Names})
		return func(u acap.Usage, at Address) Answer {
			decision := p.Decide(acap.Crawl, at.resource)
			return Answer{Allowed: decision.Allowed, Reason: decision.Reason, Because: decision.Because,
				Note: decision.Note}
		}
	}
}

// conventional returns the file without its ACAP lines.
func (d *Document) conventional() *acap.File { return acap.Parse(d.File.URL, d.kept(false)) }

// kept returns the text with only its ACAP lines, or without its ACAP lines. Removed lines become
// empty, so that the others keep their numbers.
func (d *Document) kept(ofACAP bool) []byte {
	lines := d.File.Lines()
	for i, line := range lines {
		if acap.SpeaksACAP(line) != ofACAP && !aside(line) {
			lines[i] = ""
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// aside reports whether a line belongs to both kinds of records: a comment, or a line that may be a
// qualifier of the field above it (P1 2.7, A07).
func aside(line string) bool {
	line = strings.TrimLeftFunc(line, acap.Blank)
	name, _, found := strings.Cut(line, "=")
	return strings.HasPrefix(line, "#") || found && !strings.Contains(name, ":")
}
