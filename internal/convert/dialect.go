package convert

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// label is a word of the target, which speaks about several usages at once.
type label struct {
	name   string // as in messages
	usages []acap.Usage
	whole  bool // the target prohibits with this word only if the source prohibits all of its usages
	mute   bool // the target does not permit with this word
}

// dialect is a language into which permissions are translated.
type dialect struct {
	name     string // as in messages
	labels   []label
	pathless bool // the statements are about the whole site
	agents   bool // the statements are for named crawlers
	alone    bool // the longest path decides alone; otherwise a silent path leaves the decision to shorter ones
	folds    bool // patterns ignore letter case

	// arrange removes cells that say nothing new, and settles what words must be said together. The
	// cells are sorted by the lengths of their patterns, and the result has the same order.
	arrange func(cells []*cell) []*cell
	// write returns the lines of the target.
	write func(cells []*cell) []line
	// word returns what the target says with a label in order to permit or to prohibit.
	word func(l *label, w wish) string
	// policy returns the policy of a text of the target for a crawler.
	policy func(text, name string) *acap.Policy
}

// line is a line of the target.
type line struct {
	text string
	cell *cell // nil if the line says nothing about usages
	of   int   // index of a label; -1: the line contains several labels
}

func textOf(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// valued returns a function word for labels with values.
func valued(yes, no string) func(l *label, w wish) string {
	return func(l *label, w wish) string {
		switch {
		case strings.Contains(l.name, "="):
			return l.name
		case w == permit:
			return l.name + yes
		}
		return l.name + no
	}
}

// dialectOf returns the dialect of a vocabulary, or nil if there is no such vocabulary.
func dialectOf(vocabulary string) *dialect {
	switch vocabulary {
	case AIPREF:
		return aiprefDialect()
	case ContentSignal:
		return signalDialect()
	case TDMRep:
		return tdmrepDialect()
	case RSL:
		return rslDialect()
	}
	return nil
}

// search lists the usages that belong to search.
func search() []acap.Usage {
	return []acap.Usage{acap.Index, acap.PresentLink, acap.PresentSnippet, acap.PresentOldSnippet}
}

// presentations lists present and all types based on it.
func presentations() []acap.Usage {
	return slices.DeleteFunc(acap.Usages(), func(u acap.Usage) bool { return !u.Presents() })
}

// held lists index, preserve and all types of present.
func held() []acap.Usage { return append([]acap.Usage{acap.Index, acap.Preserve}, presentations()...) }

// robotsPolicy returns a function that reads a text as a robots.txt, with one of the newer
// vocabularies.
func robotsPolicy(vocabulary string) func(text, name string) *acap.Policy {
	return func(text, name string) *acap.Policy { return vocabularyPolicy(parsed(text), vocabulary, name, nil) }
}

// filePolicy returns a function that reads a text as the file of a vocabulary.
func filePolicy(vocabulary, robots string) func(text, name string) *acap.Policy {
	return func(text, name string) *acap.Policy {
		return vocabularyPolicy(parsed(robots), vocabulary, name, []byte(text))
	}
}

// vocabularyPolicy returns the policy of robots.txt and of the file of a vocabulary, for a crawler
// that obeys this vocabulary.
func vocabularyPolicy(f *acap.File, vocabulary, name string, file []byte) *acap.Policy {
	c := vocabularyCrawler(vocabulary, name)
	refs := f.References(c)
	for i := range refs {
		refs[i].Text = file
	}
	return f.Policy(c, refs...)
}

// vocabularyCrawler returns a crawler that obeys a newer vocabulary.
func vocabularyCrawler(vocabulary, name string) acap.Crawler {
	c := acap.Crawler{Names: []string{name}}
	c.Vocabularies, _ = preference.Vocabularies([]string{vocabulary}, preference.Settings{}) // the name exists
	return c
}

// narrowest returns the cell in kept with the longest pattern that covers everything that c covers,
// nil if there is none. kept is sorted by the lengths of patterns.
func narrowest(kept []*cell, c *cell) *cell {
	for _, k := range slices.Backward(kept) {
		if k.contains(c) {
			return k
		}
	}
	return nil
}

// changes keeps the cells that say something else than the narrowest cell around them.
func changes(cells []*cell) (kept []*cell) {
	for _, c := range cells {
		around := narrowest(kept, c)
		if around == nil && slices.ContainsFunc(c.says, func(w wish) bool { return w != silent }) ||
			around != nil && !slices.Equal(around.says, c.says) {
			kept = append(kept, c)
		}
	}
	return kept
}

func aiprefDialect() *dialect {
	d := &dialect{name: "AIPREF", agents: true, alone: true, arrange: changes, policy: robotsPolicy(AIPREF),
		word: valued("=y", "=n"),
		labels: []label{{name: "train-ai", usages: []acap.Usage{acap.TrainAI}},
			{name: "ai-use", usages: []acap.Usage{acap.AIUse}}, {name: "search", usages: search()}}}
	d.write = func(cells []*cell) (lines []line) {
		for _, c := range cells {
			words := statements(d, c, map[wish]string{permit: "=y", prohibit: "=n"})
			value := strings.Join(words, ", ")
			if c.pattern != "/" {
				value = strings.TrimSpace(c.pattern + " " + value)
			}
			lines = append(lines, line{"Content-Usage: " + value, c, -1})
		}
		return lines
	}
	return d
}

// statements returns what a cell says with each label, with the values in words.
func statements(d *dialect, c *cell, words map[wish]string) (out []string) {
	for i, l := range d.labels {
		if word := words[c.says[i]]; word != "" {
			out = append(out, l.name+word)
		}
	}
	return out
}

// The labels of Content Signals that belong to the key use.
const (
	useImmediate = "use=immediate"
	useReference = "use=reference"
)

func signalDialect() *dialect {
	copies := []acap.Usage{acap.Preserve, acap.PresentCurrentCopy, acap.PresentOldCopy, acap.PresentThumbnail,
		acap.PresentOldThumbnail}
	d := &dialect{name: "Content-Signal", agents: true, pathless: true, policy: robotsPolicy(ContentSignal),
		word: valued("=yes", "=no"),
		labels: []label{{name: "search", usages: search()}, {name: "ai-input", usages: []acap.Usage{acap.AIUse}},
			{name: "ai-train", usages: []acap.Usage{acap.TrainAI}},
			{name: useImmediate, usages: held(), whole: true},
			{name: useReference, usages: copies, whole: true, mute: true}}}
	d.arrange = func(cells []*cell) []*cell { return changes(cells[:1]) }
	d.write = func(cells []*cell) (lines []line) {
		for _, c := range cells {
			words := statements(&dialect{labels: d.labels[:3]}, c, map[wish]string{permit: "=yes", prohibit: "=no"})
			switch {
			case c.says[3] == prohibit:
				words = append(words, useImmediate)
			case c.says[4] == prohibit:
				words = append(words, useReference)
			case c.says[3] == permit:
				words = append(words, "use=full")
			}
			lines = append(lines, line{"Content-Signal: " + strings.Join(words, ", "), c, -1})
		}
		return lines
	}
	return d
}

func tdmrepDialect() *dialect {
	d := &dialect{name: "TDMRep", arrange: reservations, policy: filePolicy(TDMRep, ""),
		word:   func(l *label, _ wish) string { return l.name },
		labels: []label{{name: "tdm-reservation: 1", usages: acap.NewerUsages(), mute: true}}}
	d.write = func(cells []*cell) []line {
		if len(cells) == 0 {
			return []line{{"[]", nil, -1}}
		}
		lines := []line{{"[", nil, -1}}
		for i, c := range cells {
			location, _ := json.Marshal(c.pattern) // a text of ASCII, so this cannot fail
			comma := ","
			if i == len(cells)-1 {
				comma = ""
			}
			text := fmt.Sprintf(`  {"location": %s, "tdm-reservation": 1}%s`, location, comma)
			lines = append(lines, line{text, c, 0})
		}
		return append(lines, line{"]", nil, -1})
	}
	return d
}

// reservations keeps the cells that are reserved, unless a cell around them is. No field of ACAP
// permits the newer usages (X38), so no location is excepted from a reservation.
func reservations(cells []*cell) (kept []*cell) {
	for _, c := range cells {
		if c.says[0] == prohibit && narrowest(kept, c) == nil {
			kept = append(kept, c)
		}
	}
	return kept
}

const rslName = "RSL"

// The indexes of the labels of RSL.
const (
	rslSearch = iota
	rslModels
	rslAll
)

// rslLicence is the URL of the licence document in a proof.
const rslLicence = convertedSite + "/license.xml"

func rslDialect() *dialect {
	d := &dialect{name: rslName, arrange: arrangeRSL, policy: filePolicy(RSL, "License: "+rslLicence+"\n"),
		word: func(l *label, w wish) string {
			if w == permit {
				return "<permits>" + l.name + "</permits>"
			}
			return "<prohibits>" + l.name + "</prohibits>"
		},
		labels: []label{{name: "search", usages: search()},
			{name: "ai-all", usages: []acap.Usage{acap.TrainAI, acap.AIUse, acap.AIIndex}, mute: true},
			{name: "all", usages: append(held(), acap.NewerUsages()...), whole: true, mute: true}}}
	d.write = func(cells []*cell) []line {
		if len(cells) == 0 {
			return nil
		}
		lines := []line{{`<rsl xmlns="https://rslstandard.org/rsl">`, nil, -1}}
		for _, c := range cells {
			var permits, prohibits []string
			for i, l := range d.labels {
				switch c.says[i] {
				case permit:
					permits = append(permits, l.name)
				case prohibit:
					prohibits = append(prohibits, l.name)
				}
			}
			if c.says[rslAll] == prohibit {
				permits, prohibits = nil, []string{"all"}
			}
			lines = append(lines, line{fmt.Sprintf(`  <content url="%s"><license>%s%s</license></content>`,
				escapedXML(c.pattern), tokens("permits", permits), tokens("prohibits", prohibits)), c, -1})
		}
		return append(lines, line{"</rsl>", nil, -1})
	}
	return d
}

func tokens(element string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(`<%s type="usage">%s</%s>`, element, strings.Join(list, " "), element)
}

func escapedXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder returns no error
	return b.String()
}

// arrangeRSL keeps the cells that change something. A list of permitted usages is closed: it needs
// an agreement for what it lacks. So search is permitted only within a place where it is
// prohibited, or if models are prohibited anyway.
func arrangeRSL(cells []*cell) (kept []*cell) {
	for _, c := range cells {
		around := narrowest(kept, c)
		needed := around != nil && (around.says[rslSearch] == prohibit || around.says[rslAll] == prohibit)
		if c.says[rslSearch] == permit && !needed && c.says[rslModels] != prohibit {
			c.says[rslSearch] = silent
		}
		speaks := slices.ContainsFunc(c.says, func(w wish) bool { return w != silent })
		if speaks && (around == nil || !slices.Equal(around.says, c.says)) {
			kept = append(kept, c)
		}
	}
	return kept
}
