package second

import (
	"net/url"
	"slices"
	"strings"
)

// stance is what a vocabulary says of a usage. The strongest of several stances decides.
type stance int

const (
	unknown stance = iota
	permit
	agreement
	prohibit
)

func (s stance) String() string { return []string{"unknown", "permit", "agreement", "prohibit"}[s] }

// opinion is a stance with the lines that may be named for it, and the places where the terms of an
// agreement may be. There are several if several lines say the same. An empty field of a line
// matches anything.
type opinion struct {
	stance  stance
	because []because
	terms   []string
}

// views is what one vocabulary says, by usage.
type views map[string]opinion

// add joins an opinion with what the vocabulary says already: the stronger one counts, and of equal
// ones the lines of both.
func (v views) add(o opinion, usages ...string) {
	for _, u := range usages {
		have := v[u]
		switch {
		case o.stance > have.stance:
			v[u] = o
		case o.stance == have.stance:
			have.because = slices.Concat(have.because, o.because)
			have.terms = slices.Concat(have.terms, o.terms)
			v[u] = have
		}
	}
}

// vocabularies lists the newer vocabularies in the order in which they are named.
func vocabularies() []string {
	return []string{"aipref", "content-signal", "tdmrep", "rsl", "noai", "plus-dmi"}
}

func (e *engine) inForce(vocabulary string) bool {
	return e.q.Preferences == nil || slices.Contains(*e.q.Preferences, vocabulary)
}

// searching lists the usages that statements about search are about.
func searching() []string {
	return []string{"index", "present-link", "present-snippet", "present-oldsnippet"}
}

// presenting lists present and its forms.
func presenting() []string {
	return slices.DeleteFunc(usages(), func(u string) bool { return !strings.HasPrefix(u, "present") })
}

func everyUsage() []string { return slices.Concat(usages(), newer()) }

// views returns what each vocabulary in force says of a resource. A held copy is judged by what was
// said at the fetch and by what is said today.
func (e *engine) views(u *url.URL, p *page) map[string]views {
	out := e.viewsNow(u, p)
	then := e.then()
	if then == nil {
		return out
	}
	for name, v := range then.viewsNow(u, then.known(u)) {
		for usage, o := range v {
			out[name].add(o, usage)
		}
	}
	return out
}

// then returns an engine for the web at the fetch of a held copy, nil if the question is about none.
func (e *engine) then() *engine {
	if e.q.Held == nil {
		return nil
	}
	q := *e.q
	q.Web, q.Held = e.q.Held.Web, nil
	return newEngine(&q)
}

// viewsNow returns what each vocabulary says in the web of the question.
func (e *engine) viewsNow(u *url.URL, p *page) map[string]views {
	g := e.preferenceGroup(u)
	out := map[string]views{}
	for _, name := range vocabularies() {
		v := views{}
		out[name] = v
		if !e.inForce(name) {
			continue
		}
		switch name {
		case "aipref":
			e.aipref(v, u, g, p)
		case "content-signal":
			e.contentSignal(v, u, g, p)
		case "tdmrep":
			e.tdmrep(v, u, p)
		case "rsl":
			e.rsl(v, u, g, p)
			e.refused(v, u)
		case "noai":
			e.noai(v, p)
		case "plus-dmi":
			e.plus(v, p)
		}
	}
	return out
}

// joint returns the opinion that decides about a usage: the strongest, and of equal ones that of
// the first vocabulary.
func (s *subject) joint(usage string) opinion {
	var out opinion
	for _, name := range vocabularies() {
		if o := s.views[name][usage]; o.stance > out.stance {
			out = o
		}
	}
	return out
}

// decide returns the decision about one usage. ACAP and RFC 9309 come first, and no newer
// vocabulary lifts what they prohibit.
func (s *subject) decide(usage string) decision {
	d := s.older(usage)
	if !d.Allowed {
		return d
	}
	o := s.joint(usage)
	switch {
	case o.stance == prohibit:
		return decision{Reason: "preference", by: &o}
	case o.stance == agreement:
		return decision{Reason: "agreement", by: &o}
	case o.stance == permit && d.Reason == "default":
		d.Reason, d.by = "preference", &o
	}
	return d
}

// fourth decides about one of the four newer usages by ACAP. A prohibition of other usages
// prohibits them, also one that replaces a permission, or that is on an element, because no element
// can be left out. No field of ACAP permits them. P1 2.5.6 (F19, X38).
func (s *subject) fourth() decision {
	for _, st := range slices.Concat(s.policy.of(s.policy.robots, "other"), s.policy.of(s.policy.page, "other")) {
		if !st.allow {
			return decision{Reason: "other"}
		}
	}
	if s.whole["other"] || s.whole["offer"] {
		return decision{Reason: "other"}
	}
	for _, m := range s.marks {
		if m.verdict.usage == "other" && !m.verdict.allow {
			return decision{Reason: "other"}
		}
	}
	return decision{Allowed: true, Reason: "default", Limits: &limits{}}
}

// preferences returns what the vocabularies say of the four newer usages and of search. It leaves out
// what ACAP says of search. If robots.txt cannot be read, there are no verdicts.
func (s *subject) preferences() map[string]preference {
	out := map[string]preference{}
	shut := s.shut()
	for _, usage := range append(newer(), "search") {
		asked := usage
		if usage == "search" {
			asked = "index"
		}
		strongest := s.joint(asked).stance
		p := preference{Verdict: unknown.String(), By: map[string]voice{}}
		if out[usage] = p; shut {
			continue
		}
		if usage != "search" && !s.older(usage).Allowed {
			p.By["acap"] = voice{Verdict: prohibit.String()}
			strongest = prohibit
		}
		for _, name := range vocabularies() {
			if o := s.views[name][asked]; o.stance != unknown {
				p.By[name] = voice{Verdict: o.stance.String(), by: &o}
			}
		}
		p.Verdict = strongest.String()
		out[usage] = p
	}
	return out
}
