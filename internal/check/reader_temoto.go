package check

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/temoto/robotstxt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Limits on the input of temoto/robotstxt, because hostile files cost it too much time and memory,
// and its work cannot be interrupted.
const (
	maxTemotoText  = 128 << 10 // bytes of the file
	maxTemotoStars = 8         // number of "*" and "$" in a line
	maxTemotoWild  = 16 << 10  // bytes of all lines with a wildcard
	// consecutive User-agent lines, because the library stores the rules for each of them
	maxTemotoAgents = 100
	maxTemotoPath   = 1000          // bytes of an address after its host
	maxTemotoWork   = 1_000_000_000 // estimated number of compared bytes in total
)

// Temoto returns the reading of a crawler that uses the library github.com/temoto/robotstxt. Of the
// names of the crawler, the library gets only the first. left returns sentences that say which
// parts of the document, and later which questions, exceeded the limits. The error says why the
// library cannot read the document at all; what a crawler does in this case is its own choice.
func (d *Document) Temoto() (r Reading, left func() []string, err error) {
	t := &temoto{url: d.File.URL, fields: map[int]*acap.Field{}, kept: map[int]bool{}}
	t.split(d.Source)
	left = func() []string { return t.left }
	t.weigh()
	if t.base, err = robotstxt.FromBytes(t.flipped(func(int) bool { return false })); err != nil {
		return nil, left, err
	}
	conventional, groups := d.Conventional(), d.conventional().Groups()
	return func(c acap.Crawler) Judge {
		name := ""
		if len(c.Names) > 0 {
			name = c.Names[0]
		}
		own, rfc, why := t.judge(name), conventional(c), causes{groups: groups, lines: d.File.Lines(), crawler: c}
		return func(u acap.Usage, at Address) Answer {
			// the library did not receive some lines of the file, so one of these lines may be the
			// deciding line
			if len(t.kept) > 0 || t.cut {
				if f := rfc(u, at).Because; f != nil && (t.kept[f.Line] || t.cut && f.Line >= len(t.lines)) {
					return t.unknown("temoto/robotstxt did not receive all lines that decide, and what is reported " +
						"of it may not be true of the whole file")
				}
			}
			a := own(at)
			if a.Unknown == "" {
				by := a.more
				a.more = func(a *Answer) {
					by(a)
					a.Note = why.of(*a, rfc(u, at), at)
				}
			}
			return a
		}
	}, left, nil
}

// split splits a file into lines in the same way as the library, and drops lines that would take
// the library too long.
func (t *temoto) split(src []byte) {
	if len(src) > maxTemotoText {
		t.left = append(t.left, fmt.Sprintf("temoto/robotstxt received the first %d of %d bytes", maxTemotoText,
			len(src)))
		src, t.cut = src[:maxTemotoText], true
	}
	src = bytes.ReplaceAll(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	t.lines = bytes.Split(src, []byte("\n"))
	wild, agents, last := 0, 0, 0
	for i, line := range t.lines {
		stars := bytes.Count(line, []byte("*")) + bytes.Count(line, []byte("$"))
		rules := len(keysOf(line, ruleNames))
		if rules > 0 {
			agents = 0
		}
		agents += len(keysOf(line, agentNames))
		switch {
		case rules > 0 && stars > 0 && (stars > maxTemotoStars || wild+len(line) > maxTemotoWild),
			agents > maxTemotoAgents:
			t.lines[i], t.kept[i+1], last = nil, true, i+1
		case rules > 0 && stars > 0:
			wild += len(line)
		}
	}
	if n := len(t.kept); n > 0 {
		t.left = append(t.left, fmt.Sprintf("temoto/robotstxt did not receive %d of %d lines, the last of them line "+
			"%d: it would need too long for them", n, len(t.lines), last))
	}
}

// The names of lines that the library recognises.
const ruleNames, agentNames = "allow disallow", "user-agent useragent"

// keysOf returns where in a line the library finds one of the names. The library reads names and
// values alternately, anywhere in a line.
func keysOf(line []byte, names string) (at [][2]int) {
	isKey, colon := true, false
	for i := 0; i < len(line); isKey = !isKey {
		for i < len(line) && temotoSpace(line[i]) {
			i++
		}
		if i == len(line) || line[i] == '#' {
			break
		}
		from := i
		for i++; i < len(line) && !temotoSpace(line[i]) && (colon || line[i] != ':'); i++ {
		}
		to := i
		if i < len(line) && line[i] == ':' {
			colon = true
			i++
		}
		if isKey && slices.Contains(strings.Fields(names), strings.ToLower(string(line[from:to]))) {
			at = append(at, [2]int{from, to})
		}
	}
	return at
}

func temotoSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\v' }

// temoto is a document as the library temoto/robotstxt reads it. The library does not report the
// deciding line. But which rule wins does not depend on whether it is Allow or Disallow. So the
// deciding line is the one for which the answer changes if Allow and Disallow are exchanged. To
// find it among n rules, about log n files are parsed; in each of these files, Allow and Disallow
// are exchanged in the rules whose number has a certain bit.
type temoto struct {
	url   string
	lines [][]byte
	rules []int // indexes of the lines with a rule, counted from 0
	tests int   // greatest number of comparisons of rules with an address
	wild  int   // total bytes of the rules with a wildcard
	base  *robotstxt.RobotsData
	// parsed files: first the file with all rules exchanged, then one file for each bit; each is
	// parsed when it is needed
	turns []*robotstxt.RobotsData
	spent int
	left  []string
	kept  map[int]bool // the numbers of the lines that the library does not receive, counted from 1
	cut   bool         // the text is longer than the part that the library receives

	fields map[int]*acap.Field
}

// weigh counts the rules. If the lines above a rule name a crawler twice, the rule is counted
// twice.
func (t *temoto) weigh() {
	times, open := map[string]int{}, true
	for i, line := range t.lines {
		for _, at := range keysOf(line, agentNames) {
			if !open {
				clear(times)
				open = true
			}
			if words := strings.Fields(strings.TrimPrefix(string(line[at[1]:]), ":")); len(words) > 0 {
				times[strings.ToLower(words[0])]++
			}
		}
		if len(keysOf(line, ruleNames)) == 0 {
			continue
		}
		t.rules, open = append(t.rules, i), false
		most := 1
		for _, n := range times {
			most = max(most, n)
		}
		t.tests += most
		if bytes.ContainsAny(line, "*$") {
			t.wild += most * len(line)
		}
	}
}

// flipped returns the text in which Allow and Disallow are exchanged in the rules that turn selects
// by their index.
func (t *temoto) flipped(turn func(int) bool) []byte {
	lines := slices.Clone(t.lines)
	for n, i := range t.rules {
		if !turn(n) {
			continue
		}
		var b []byte
		from := 0
		for _, at := range keysOf(lines[i], ruleNames) {
			b = append(b, lines[i][from:at[0]]...)
			if at[1]-at[0] == len("allow") {
				b = append(b, "disallow"...)
			} else {
				b = append(b, "allow"...)
			}
			from = at[1]
		}
		lines[i] = append(b, lines[i][from:]...)
	}
	return bytes.Join(lines, []byte("\n"))
}

func (t *temoto) judge(name string) func(Address) Answer {
	group := t.base.FindGroup(name)
	var turned []*robotstxt.Group
	return func(at Address) Answer {
		path := at.URL.RequestURI()
		cost := 100 + 4*t.tests + t.wild*len(path)
		switch {
		case len(path) > maxTemotoPath:
			return t.unknown(fmt.Sprintf("temoto/robotstxt was not compared on addresses of more than %d bytes",
				maxTemotoPath))
		case t.spent > maxTemotoWork:
			return t.unknown("temoto/robotstxt was not compared on all addresses: it would take too long")
		}
		t.spent += cost
		return Answer{Allowed: group.Test(path), Reason: acap.ByDefault, more: func(a *Answer) {
			if turned == nil {
				for _, r := range t.turned() {
					turned = append(turned, r.FindGroup(name))
				}
			}
			t.spent += cost * len(turned)
			if turned[0].Test(path) == a.Allowed {
				return
			}
			n := 0
			for i, g := range turned[1:] {
				if g.Test(path) != a.Allowed {
					n |= 1 << i
				}
			}
			a.Reason, a.Because = acap.Conventional, t.field(n)
		}}
	}
}

func (t *temoto) unknown(why string) Answer {
	if !slices.Contains(t.left, why) {
		t.left = append(t.left, why)
	}
	return Answer{Unknown: why}
}

func (t *temoto) turned() []*robotstxt.RobotsData {
	if t.turns == nil {
		read := func(turn func(int) bool) {
			r, err := robotstxt.FromBytes(t.flipped(turn))
			if err != nil { // this cannot fail if the text itself was parsed, since only the names of rules differ
				r = t.base
			}
			t.turns = append(t.turns, r)
		}
		read(func(int) bool { return true })
		for bit := range bits.Len(uint(max(len(t.rules)-1, 0))) {
			read(func(n int) bool { return n>>bit&1 == 1 })
		}
	}
	return t.turns
}

// field returns the line of rule n as a Field.
func (t *temoto) field(n int) *acap.Field {
	if n >= len(t.rules) {
		return nil
	}
	line := t.rules[n]
	if t.fields[line] == nil {
		t.fields[line] = &acap.Field{Source: acap.Robots, URL: t.url, Line: line + 1, Column: 1,
			Text: strings.TrimSpace(string(t.lines[line]))}
	}
	return t.fields[line]
}
