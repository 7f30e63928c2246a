package acap

import "strings"

// purpose is a usage purpose pattern (P1 2.3.3): a prefix unless it ends in "$", with "*" for any text, in any case (C14).
type purpose struct {
	shape
	empty bool // covers every purpose in a prohibition, none in a permission (A10)
	cut   bool // at a "$" that is not its last character: permits nothing (F13, by analogy)
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

// reaches says whether a sub-record concerns what is collected for the given purpose. With purposes undeclared its
// prohibitions do and its permissions do not (C15).
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

// addresses says whether a name in a file means this crawler: equal to a token, or to a token and "/" anything, in any case (C05).
func (c *Crawler) addresses(name string) bool {
	for _, token := range c.Names {
		if rest, ok := cutFold(name, token); ok && token != "" && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// unable reports whether the crawler declares that it cannot interpret a usage, a qualifier type or "element-level" (G03).
func (c *Crawler) unable(what string) bool {
	for _, w := range c.Cannot {
		if strings.EqualFold(w, what) {
			return true
		}
	}
	return false
}
