package second

import (
	"net/url"
	"slices"
	"strings"
)

// contentSignal reads the lines Content-Signal of robots.txt and the header.
func (e *engine) contentSignal(v views, _ *url.URL, g preferenceGroup, p *page) {
	for _, l := range g.signals {
		e.signals(v, l.value, g.at(l))
	}
	if p == nil {
		return
	}
	for i, value := range p.header["Content-Signal"] {
		e.signals(v, value, p.headerAt(i))
	}
}

// signals adds what one value says. Letter case has no meaning. A member with a path is unknown.
func (e *engine) signals(v views, value string, at because) {
	for _, member := range strings.Split(strings.ToLower(value), ",") {
		key, word, _ := strings.Cut(member, "=")
		key, word = strings.Trim(key, " \t"), strings.Trim(word, " \t")
		if key == "use" {
			e.use(v, word, at)
			continue
		}
		about := map[string][]string{"ai-train": {"train-ai"}, "ai-input": {"ai-use"}, "search": searching()}[key]
		v.add(opinion{stance: map[string]stance{"yes": permit, "no": prohibit}[word], because: []because{at}}, about...)
	}
}

// use adds what the key use says.
func (e *engine) use(v views, word string, at because) {
	if e.q.ContentSignalUse != nil && !*e.q.ContentSignalUse {
		return
	}
	all := slices.Concat([]string{"index", "preserve"}, presenting())
	switch word {
	case "immediate":
		v.add(opinion{stance: prohibit, because: []because{at}}, all...)
	case "reference":
		v.add(opinion{stance: prohibit, because: []because{at}}, "preserve", "present-currentcopy", "present-oldcopy",
			"present-thumbnail", "present-oldthumbnail")
	case "full":
		v.add(opinion{stance: permit, because: []because{at}}, all...)
	}
}
