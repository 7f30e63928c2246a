package acap

import (
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// Action is an action request that reaches the crawler (P1 2.6).
type Action struct {
	Action  string // "take-down" or "re-crawl"
	URL     string // absolute, normalised; of the origin of the file
	Field   *Field
	Execute bool   // false: refused, with Why
	Why     string // one clause
}

// The actions of P1 2.6.1 and 2.6.2.
const (
	TakeDown = "take-down"
	ReCrawl  = "re-crawl"
)

// maxReCrawls bounds the re-crawls that one policy may ask for; take-downs are not limited (P09).
const maxReCrawls = 1000

// NewAction reads a request that came by another way than a file, as one that stands in the
// robots.txt of its origin is read (P01, P02, P10): rawurl is absolute and names a single resource.
// by is what the answers for it will name. The error is a clause.
func NewAction(action, rawurl string, by *Field) (Action, error) {
	if action != TakeDown && action != ReCrawl {
		return Action{}, fmt.Errorf("%q is no action; they are %s and %s", action, TakeDown, ReCrawl)
	}
	u, err := url.Parse(rawurl)
	switch {
	case err != nil:
		return Action{}, fmt.Errorf("%q is not a URL", rawurl)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return Action{}, fmt.Errorf("%q is not an absolute http or https URL", rawurl)
	case u.User != nil:
		return Action{}, fmt.Errorf("%q holds a user name", u.Redacted())
	case strings.Contains(rawurl, "#"):
		return Action{}, fmt.Errorf("%q names a part of a resource", rawurl)
	}
	_, path, _ := strings.Cut(rawurl, "://") // as written
	if i := strings.IndexAny(path, "/?"); i >= 0 {
		path = path[i:]
	} else {
		path = ""
	}
	why := notSingle("/" + strings.TrimLeft(path, "/")) // beginning with //, where a line would name a host
	if why == "" && isPolicyFile(u) {
		why = policyFile
	}
	if why != "" {
		return Action{}, fmt.Errorf("%q is refused: %s", rawurl, why)
	}
	return Action{Action: action, URL: NewResource(u).URL, Field: by, Execute: true}, nil
}

// notSingle says why what a request names is not a single resource; "" if it is one.
func notSingle(path string) string {
	switch {
	case path == "":
		return "it names no resource"
	case strings.ContainsAny(path, "*$"): // P01
		return "it holds a wildcard; a request names a single resource"
	case len(strings.Fields(path)) > 1:
		return "it names more than one resource"
	case strings.HasPrefix(path, "//") || hasScheme(path): // P03
		return "it names a resource by an absolute URI"
	}
	if _, err := url.Parse(path); err != nil {
		return "what it names is not a path (a % that stands for itself is written %25)"
	}
	return ""
}

const policyFile = "it names robots.txt, which is read whatever is asked"

func isPolicyFile(u *url.URL) bool { return NewResource(u).rep == "/robots.txt" }

// requests lists the action requests of a file and of the files it refers to that reach c.
// Take-downs come first, so that a re-crawl of the same resource confirms its absence (P11, X31). A
// repeated request is listed once.
func (f *File) requests(c *Crawler, refs []Reference, tell *reporter) []Action {
	if f.base == nil { // nothing can be named from nowhere
		return nil
	}
	l := &requestList{file: f, crawler: c, root: *rootOf(f.base), tell: tell, seen: map[string]bool{}}
	foreign := ""
	if !near(l.root, f.Final) {
		foreign = "robots.txt was read from another host"
	}
	l.add(f, foreign)
	byField := map[*Field]Reference{}
	for _, r := range refs {
		byField[r.Field] = r
	}
	f.references(c, func(want Reference, void bool) {
		ref := byField[want.Field]
		switch {
		case ref.File == nil || ref.File == f:
		case !near(l.root, want.URL) || !near(l.root, ref.Final): // P13
			l.add(ref.File, "it stands in a file of another host")
		case void: // D08, A15
			l.add(ref.File, "prohibitions alone count behind a second reference of a record, "+
				"and behind one that names nobody")
		default:
			l.add(ref.File, "")
		}
	})
	sort.SliceStable(l.out, func(i, j int) bool { return l.out[i].Action == TakeDown && l.out[j].Action != TakeDown })
	return l.out
}

// requestList gathers what File.requests lists.
type requestList struct {
	file     *File
	crawler  *Crawler
	root     url.URL
	tell     *reporter
	seen     map[string]bool
	recrawls int
	out      []Action
}

// add lists the requests of g. If refused is not empty, it says why none of them is executed.
func (l *requestList) add(g *File, refused string) {
	var last *record
	reached := false
	for _, r := range g.actions {
		if r.record != nil && r.record != last {
			last = r.record
			reached, _ = last.reaches(l.crawler)
			reached = reached && !last.nobody
		}
		if r.record != nil && !reached {
			continue
		}
		u, err := l.file.resolve(r.path)
		if err != nil || *rootOf(u) != l.root || u.User != nil { // P03: a request names a resource of its own origin
			continue
		}
		a := l.action(r, u, refused)
		key := a.Action + " " + a.URL
		if l.seen[key] && a.Execute {
			continue
		}
		l.seen[key] = l.seen[key] || a.Execute
		if a.Action == ReCrawl && a.Execute {
			if l.recrawls++; l.recrawls > maxReCrawls { // P09: a policy asks for so many re-crawls at most
				a.refuse(l.tell, fmt.Sprintf("%d re-crawls are requested before it", maxReCrawls))
			}
		}
		l.out = append(l.out, a)
	}
}

// action returns the request r for the resource u, refused if there is a reason.
func (l *requestList) action(r *request, u *url.URL, refused string) Action {
	a := Action{Action: r.action, URL: NewResource(u).URL, Field: r.field, Why: r.why, Execute: r.why == ""}
	// P1 2.3 (C13): a request in a sub-record is refused
	if r.sub && a.Execute && !(l.crawler.SubTakeDowns && a.Action == TakeDown) {
		a.Execute, a.Why = false, "it stands in a sub-record"
	}
	if refused != "" && a.Execute {
		a.refuse(l.tell, refused)
	}
	if isPolicyFile(u) && a.Execute {
		a.refuse(l.tell, policyFile)
	}
	return a
}

// refuse notes why a request that is well formed is not executed.
func (a *Action) refuse(tell *reporter, why string) {
	a.Execute, a.Why = false, why
	tell.report(a.Field, "refused-request", Error, "", "the request is not executed: %s", why)
}

// near reports whether a file at address, "" for none, is of the host with the given root (P13): of
// the same origin, or of the same host name with both at the ports of their schemes, since sites
// lead from http to https.
func near(root url.URL, address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if *rootOf(u) == root {
		return true
	}
	usual := func(u *url.URL) bool {
		p := u.Port()
		return p == "" || u.Scheme == "http" && p == "80" || u.Scheme == "https" && p == "443"
	}
	return strings.EqualFold(u.Hostname(), root.Hostname()) && usual(u) && usual(&root)
}

// WithActions gives p with other requests than those its file makes: what an operator has
// confirmed, or was told by another way.
func (p *Policy) WithActions(list []Action) *Policy {
	if p == nil {
		return nil
	}
	q := *p
	q.actions, q.barred = list, barred(list)
	return &q
}

// barred are the fields of take-downs that are executed, by URL.
func barred(list []Action) map[string]*Field {
	var out map[string]*Field
	for _, a := range list {
		if a.Action == TakeDown && a.Execute {
			if out == nil {
				out = map[string]*Field{}
			}
			if out[a.URL] == nil {
				out[a.URL] = a.Field
			}
		}
	}
	return out
}

// TakeDown gives the request for r that stands; nil where none does. While it stands nothing is
// fetched to be kept, kept, indexed or shown of r (P04, P05); it changes no decision (X64).
func (p *Policy) TakeDown(r Resource) *Field {
	if p == nil {
		return nil
	}
	return p.barred[r.URL]
}

// refuseUncrawled refuses the re-crawls of what may not be crawled (P08).
func (p *Policy) refuseUncrawled(tell *reporter) {
	for i := range p.actions {
		a := &p.actions[i]
		if u, err := url.Parse(a.URL); err == nil && a.Action == ReCrawl && a.Execute &&
			!p.Decide(Crawl, NewResource(u)).Allowed {
			a.refuse(tell, "crawl of the resource is not permitted")
		}
	}
}
