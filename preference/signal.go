package preference

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// signals is the vocabulary Content Signals: Content-Signal in robots.txt and in headers.
type signals struct {
	useOff bool // the key use is ignored
}

const (
	contentSignal  = "content-signal"
	contentSignals = "content-signals" // a common misspelling
)

// Name implements acap.Vocabulary.
func (signals) Name() string { return contentSignal }

// Key implements acap.Vocabulary.
func (v signals) Key() string {
	if v.useOff {
		return v.Name() + " without use"
	}
	return v.Name()
}

// Files implements acap.Vocabulary.
func (signals) Files(*acap.Site) []acap.Needed { return nil }

// Site reads the Content-Signal lines of the groups for the crawler. A named group inherits nothing
// from "*".
func (v signals) Site(s *acap.Site) acap.Preferences {
	said := opinions{}
	for _, l := range linesOf(s, contentSignal, contentSignals) {
		if l.Name == contentSignals {
			s.Report(l.Field, "misspelt-name", acap.Warning, "write Content-Signal:",
				"Content-Signals is read as Content-Signal")
		}
		v.read(l.Value, l.Field, s.Report, said)
	}
	return said.orNil()
}

// Page adds the header Content-Signal of the response.
func (v signals) Page(p *acap.Page, site acap.Preferences) acap.Preferences {
	said := opinions{}
	for _, t := range headers(p, contentSignal) {
		v.read(t.Content, p.Field(t), p.Report, said)
	}
	return join(site, said)
}

// read adds what one line says. Its members are separated by commas; keys and values ignore letter
// case.
func (v signals) read(line string, f *acap.Field, report reporting, said opinions) {
	for member := range strings.SplitSeq(line, ",") {
		key, value, _ := strings.Cut(strings.ToLower(member), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case key == "":
		case strings.Contains(member, "/"):
			report(f, "path-in-signal", acap.Warning, "leave the path out, or use Content-Usage",
				"Content-Signal has no paths: this part says nothing: "+strings.TrimSpace(member))
		case key == "use":
			v.readUse(value, f, report, said)
		default:
			readSignal(key, value, f, report, said)
		}
	}
}

// readSignal reads one of the keys search, ai-input and ai-train.
func readSignal(key, value string, f *acap.Field, report reporting, said opinions) {
	usages := map[string][]acap.Usage{"search": search(), "ai-input": {acap.AIUse}, "ai-train": {acap.TrainAI}}[key]
	switch {
	case usages == nil && labels(key) != nil:
		report(f, "other-vocabulary", acap.Warning, "write it in a Content-Usage line",
			key+" is a label of Content-Usage: in Content-Signal it says nothing")
	case usages == nil:
		report(f, "unknown-label", acap.Notice, "use search, ai-input, ai-train and use",
			"the key "+key+" is unknown and says nothing")
	case value == "yes":
		said.add(verdict(acap.Permits, f), usages...)
	case value == "no":
		said.add(verdict(acap.Prohibits, f), usages...)
	default:
		report(f, "unknown-preference", acap.Warning, "write "+key+"=yes or "+key+"=no",
			"the value of "+key+" is neither yes nor no, so it says nothing")
	}
}

// readUse reads the key use, by which a publisher says how much of a page a service may keep and
// show.
func (v signals) readUse(value string, f *acap.Field, report reporting, said opinions) {
	copies := []acap.Usage{acap.Preserve, acap.PresentCurrentCopy, acap.PresentOldCopy, acap.PresentThumbnail,
		acap.PresentOldThumbnail}
	switch {
	case value != "immediate" && value != "reference" && value != "full":
		report(f, "unknown-preference", acap.Warning, "write use=immediate, use=reference or use=full",
			"the value of use is unknown, so it says nothing")
	case v.useOff:
	case value == "immediate":
		said.add(verdict(acap.Prohibits, f), held()...)
	case value == "reference":
		said.add(verdict(acap.Prohibits, f), copies...)
	default:
		said.add(verdict(acap.Permits, f), held()...)
	}
}

// held lists index, preserve and all types of present.
func held() []acap.Usage {
	list := []acap.Usage{acap.Index, acap.Preserve}
	for _, u := range acap.Usages() {
		if u.Presents() {
			list = append(list, u)
		}
	}
	return list
}
