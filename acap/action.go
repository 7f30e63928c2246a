package acap

import (
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// Action is an action request that addresses the crawler (P1 2.6).
type Action struct {
	Action  string // the requested action: "take-down" or "re-crawl"
	URL     string // the URL of the resource, absolute and normalised; it has the origin of the file
	Field   *Field
	Execute bool   // false if the request is refused for the reason in Why
	Why     string // the reason for the refusal, as a clause of a sentence
}

// The actions that a publisher can request (P1 2.6.1, 2.6.2).
const (
	TakeDown = "take-down"
	ReCrawl  = "re-crawl"
)

// maxReCrawls is how many re-crawls one policy may request. The number of take-downs is not limited
// (P1 2.6, P09).
const maxReCrawls = 1000

// NewAction reads an action request that did not come from a file. The rules are those for a
// request in the robots.txt of the same origin (P1 2.6; P01 and P02: a request names one resource,
// without wildcards; P10: paths are exact). rawurl is absolute. by is the field that decisions name
// if they follow from this request. The error is a clause of a sentence.
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
	_, path, _ := strings.Cut(rawurl, "://") // the path as written, not normalised
	if i := strings.IndexAny(path, "/?"); i >= 0 {
		path = path[i:]
	} else {
		path = ""
	}
	// a path that begins with two slashes would be read as a host
	why := notSingle("/" + strings.TrimLeft(path, "/"))
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

const policyFile = "it names robots.txt, which is always read"

func isPolicyFile(u *url.URL) bool { return NewResource(u).rep == "/robots.txt" }

// requests returns the action requests to the crawler c, from the file f and from the files that f
// refers to. Take-downs come first, so that a re-crawl of the same resource confirms its absence
// (P1 2.2.1, P11; P1 2.6, X31). A repeated request is listed once.
func (f *File) requests(c *Crawler, refs []Reference, tell *reporter) []Action {
	if f.base == nil { // a file without an origin cannot name a resource
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
	f.eachReference(c, func(want Reference, void bool) {
		ref := byField[want.Field]
		switch {
		case ref.File == nil || ref.File == f:
		// P1 2.3.2 (P13): requests in a referenced file are executed only if the file is on this
		// host
		case !near(l.root, want.URL) || !near(l.root, ref.Final):
			l.add(ref.File, "it is in a file of another host")
		// P1 2.3.2 (D08): in the file that a second reference names, only the prohibitions have
		// effect; P1 3 (A15): a record with only empty crawler names prohibits for all crawlers and
		// permits nothing
		case void:
			l.add(ref.File, "only prohibitions count in the file of a second reference, "+
				"and in that of a record that names no crawler")
		default:
			l.add(ref.File, "")
		}
	})
	sort.SliceStable(l.out, func(i, j int) bool { return l.out[i].Action == TakeDown && l.out[j].Action != TakeDown })
	return l.out
}

// requestList collects the requests that File.requests returns.
type requestList struct {
	file     *File
	crawler  *Crawler
	root     url.URL
	tell     *reporter
	seen     map[string]bool
	recrawls int
	out      []Action
}

// add lists the requests in the file g. If refused is not empty, no request of g is executed, and
// refused is the reason.
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
		// P1 2.6 (P03): a request may only name a resource of its own origin
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
			// P1 2.6 (P09): a policy may request at most maxReCrawls re-crawls
			if l.recrawls++; l.recrawls > maxReCrawls {
				a.refuse(l.tell, fmt.Sprintf("%d re-crawls are requested before it", maxReCrawls))
			}
		}
		l.out = append(l.out, a)
	}
}

// action returns the Action for the request r and the resource u. If refused is not empty, the
// request is refused for that reason.
func (l *requestList) action(r *request, u *url.URL, refused string) Action {
	a := Action{Action: r.action, URL: NewResource(u).URL, Field: r.field, Why: r.why, Execute: r.why == ""}
	// P1 2.3 (C13): a request in a sub-record is refused
	if r.sub && a.Execute && !(l.crawler.SubTakeDowns && a.Action == TakeDown) {
		a.Execute, a.Why = false, "it is in a sub-record"
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

// near reports whether the file at address belongs to the host of root (P1 2.3.2, P13). It does if
// both have the same origin, or the same host name and the default ports of their schemes, since
// sites redirect from http to https. An empty address belongs to the host.
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

// WithActions returns a copy of p that has the action requests in list, instead of those in
// robots.txt. The requests in list were confirmed by an operator, or arrived through another
// channel.
func (p *Policy) WithActions(list []Action) *Policy {
	if p == nil {
		return nil
	}
	q := *p
	q.actions, q.barred = list, barred(list)
	return &q
}

// barred returns a map from the URL of each take-down in list that is executed to its field.
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
// in force, r is not fetched for keeping, kept, indexed or shown (P1 2.6, P04; P1 2.6.1, P05). A
// take-down does not change what Decide returns (P1 2.6.1, X64).
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
