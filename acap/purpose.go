package acap

import "strings"

// purpose is a pattern of usage purposes (P1 2.3.3). It is a prefix unless it ends in "$"; "*"
// stands for any text, and letter case is ignored (P1 2.9, C14).
type purpose struct {
	shape
	// the pattern is empty: in a prohibition the empty pattern covers every purpose, in a
	// permission no purpose (P1 3, A10)
	empty bool
	cut   bool // the pattern was cut at a "$" that is not its last character, so it permits nothing (P1 2.9, as F13)
}

func newPurpose(s string) *purpose {
	s = strings.ToLower(s)
	i := strings.IndexByte(s, '$')
	cut := i >= 0 && i < len(s)-1
	if cut {
		s = s[:i]
	}
	return &purpose{shape: newShape(s), empty: s == "", cut: cut}
}

func (p *purpose) matches(name string) bool {
	return p.shape.matches(strings.ToLower(name))
}

// reaches reports whether a sub-record is for a purpose of the crawler c. If c declares no
// purposes, prohibitions in sub-records have effect and permissions do not (P1 2.3.3, C15).
func (s *subRecord) reaches(allow bool, c *Crawler) bool {
	if s == nil {
		return true
	}
	if c.Purposes == nil {
		return !allow
	}
	for _, p := range s.purposes {
		if p.empty && !allow {
			return true
		}
		for _, name := range c.Purposes {
			if !p.empty && !(p.cut && allow) && p.matches(name) {
				return true
			}
		}
	}
	return false
}

// addresses reports whether a name in a file means this crawler. A name does if it is a token of
// the crawler, or such a token followed by "/" and any text, in any letter case (P1 2.3.1, C05).
func (c *Crawler) addresses(name string) bool {
	for _, token := range c.Names {
		if rest, ok := cutFold(name, token); ok && token != "" && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// unable reports whether the crawler declares that it cannot interpret the word what, which is a
// usage, a qualifier type or "element-level" (P1 2.4.3, G03).
func (c *Crawler) unable(what string) bool {
	for _, w := range c.Cannot {
		if strings.EqualFold(w, what) {
			return true
		}
	}
	return false
}
