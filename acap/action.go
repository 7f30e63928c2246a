package acap

import (
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// Action is an action request that addresses the crawler (P1 2.6).
type Action struct {
	Action  string // "take-down" or "re-crawl"
	URL     string // absolute and normalised, in the origin of the file
	Field   *Field
	Execute bool   // false: it is refused, for the reason Why
	Why     string // one clause
}

// The actions of P1 2.6.1 and 2.6.2.
const (
	TakeDown = "take-down"
	ReCrawl  = "re-crawl"
)

// maxReCrawls bounds the re-crawls that one policy may ask for; take-downs are not limited (P1 2.6,
// P09).
const maxReCrawls = 1000

// NewAction reads a request that did not come from a file, by the rules for one in the robots.txt
// of its origin (P1 2.6; P01 and P02: it names one resource, without wildcards; P10: paths are
// exact). rawurl is absolute. by is the field that decisions will name. The error is a clause.
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
	why := notSingle("/" + strings.TrimLeft(path, "/")) // a line that begins with // would name a host
	if why == "" && isPolicyFile(u) {
		why = policyFile
	}
	if why != "" {
		return Action{}, fmt.Errorf("%q is refused: %s", rawurl, why)
	}
	return Action{Action: action, URL: NewResource(u).URL, Field: by, Execute: true}, nil
}

// notSingle returns why a path does not name a single resource, "" if it does.
func notSingle(path string) string {
	switch {
	case path == "":
		return "it names no resource"
	case strings.ContainsAny(path, "*$"): // P1 2.6 (P01): a request with a wildcard is refused
		return "it holds a wildcard; a request names a single resource"
	case len(strings.Fields(path)) > 1:
		return "it names more than one resource"
	// P1 2.6 (P03): a request for a complete URI or another host is refused
	case strings.HasPrefix(path, "//") || hasScheme(path):
		return "it names a resource by an absolute URI"
	}
	if _, err := url.Parse(path); err != nil {
		return "what it names is not a path (a % that stands for itself is written %25)"
	}
	return ""
}

const policyFile = "it names robots.txt, which is read whatever is asked"

func isPolicyFile(u *url.URL) bool { return NewResource(u).rep == "/robots.txt" }

// requests returns the action requests to c, of a file and of the files it refers to. Take-downs
// come first, so that a re-crawl of the same resource confirms its absence (P1 2.2.1, P11; P1 2.6,
// X31). A repeated request is listed once.
func (f *File) requests(c *Crawler, refs []Reference, tell *reporter) []Action {
	if f.base == nil { // without an origin no resource can be named
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
		// P1 2.3.2 (P13): requests of a referenced file are done if it is on this host
		case !near(l.root, want.URL) || !near(l.root, ref.Final):
			l.add(ref.File, "it stands in a file of another host")
		// P1 2.3.2 (D08): a second reference counts for its prohibitions only; P1 3 (A15): a record
		// that names nobody prohibits for all and permits nothing
		case void:
			l.add(ref.File, "prohibitions alone count behind a second reference of a record, "+
				"and behind one that names nobody")
		default:
			l.add(ref.File, "")
		}
	})
	sort.SliceStable(l.out, func(i, j int) bool { return l.out[i].Action == TakeDown && l.out[j].Action != TakeDown })
	return l.out
}

// requestList collects what File.requests returns.
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
		// P1 2.6 (P03): a request names a resource of its own origin
		if err != nil || *rootOf(u) != l.root || u.User != nil {
			continue
		}
		a := l.action(r, u, refused)
		key := a.Action + " " + a.URL
		if l.seen[key] && a.Execute {
			continue
		}
		l.seen[key] = l.seen[key] || a.Execute
		if a.Action == ReCrawl && a.Execute {
			if l.recrawls++; l.recrawls > maxReCrawls { // P1 2.6 (P09): a policy asks for so many re-crawls at most
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

// refuse marks a well-formed request as not executed, and reports why.
func (a *Action) refuse(tell *reporter, why string) {
	a.Execute, a.Why = false, why
	tell.report(a.Field, "refused-request", Error, "", "the request is not executed: %s", why)
}

// near reports whether a file at address belongs to the host of root (P1 2.3.2, P13): it has the
// same origin, or the same host name with both at the default ports of their schemes, since sites
// redirect from http to https. An empty address belongs to it.
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

// WithActions returns p with the given requests in place of those of its file: what an operator has
// confirmed, or received by another channel.
func (p *Policy) WithActions(list []Action) *Policy {
	if p == nil {
		return nil
	}
	q := *p
	q.actions, q.barred = list, barred(list)
	return &q
}

// barred returns the fields of the take-downs that are executed, by URL.
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

// TakeDown returns the take-down request for r that is in force, nil if there is none. While it is
// in force, r is not fetched for keeping, kept, indexed or shown (P1 2.6, P04; P1 2.6.1, P05). It
// changes no decision (P1 2.6.1, X64).
func (p *Policy) TakeDown(r Resource) *Field {
	if p == nil {
		return nil
	}
	return p.barred[r.URL]
}

// refuseUncrawled refuses re-crawls of resources that may not be crawled (P1 2.6.2, P08).
func (p *Policy) refuseUncrawled(tell *reporter) {
	for i := range p.actions {
		a := &p.actions[i]
		if u, err := url.Parse(a.URL); err == nil && a.Action == ReCrawl && a.Execute &&
			!p.Decide(Crawl, NewResource(u)).Allowed {
			a.refuse(tell, "crawl of the resource is not permitted")
		}
	}
}
