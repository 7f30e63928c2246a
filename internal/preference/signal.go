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
		v.readLine(l, s.Report, said)
	}
	return said.orNil()
}

// readLine reads a Content-Signal line of robots.txt, and adds what it says to said.
func (v signals) readLine(l acap.Line, report reporting, said opinions) {
	if l.Name == contentSignals {
		written, _, _ := strings.Cut(l.Field.Text, ":")
		report(l.Field.At(strings.TrimSpace(written)), "misspelt-name", acap.Warning, "write Content-Signal:",
			"Content-Signals is read as Content-Signal")
	}
	if strings.Trim(l.Value, ", \t") == "" {
		report(l.Field, "empty-preference", acap.Notice, "write a signal, as in ai-train=no",
			"the line has no value and says nothing")
	}
	v.read(l.Value, l.Field, report, said)
}

// Page adds the header Content-Signal of the response.
func (v signals) Page(p *acap.Page, site acap.Preferences) acap.Preferences {
	said := opinions{}
	for _, t := range headers(p, contentSignal) {
		v.read(t.Content, p.Field(t), p.Report, said)
	}
	reportMeta(p, contentSignal)
	return join(site, said)
}

// reportMeta reports a META tag with the name of a header: preferences have no META form (attach
// 2).
func reportMeta(p *acap.Page, name string) {
	for i := range p.Tags {
		t := &p.Tags[i]
		if t.Source == acap.Meta && strings.EqualFold(strings.TrimSpace(t.Name), name) {
			p.Report(p.Field(t), "meta-preference", acap.Warning, "send it as a header of the response",
				"a META tag "+strings.TrimSpace(t.Name)+" says nothing: the preference is a header")
		}
	}
}

// read adds what one line says. Its members are separated by commas; keys and values ignore letter
// case.
func (v signals) read(line string, f *acap.Field, report reporting, said opinions) {
	for _, m := range signalMembers(line, f) {
		switch {
		case strings.Contains(m.text, "/"):
			report(f.At(m.text), "path-in-signal", acap.Warning, "leave the path out, or use Content-Usage",
				"Content-Signal has no paths: this part says nothing: "+m.text)
		case m.key == "use":
			v.readUse(m, report, said)
		default:
			m.read(report, said)
		}
	}
}

// signalMembers returns the members of a line, without empty ones.
func signalMembers(line string, f *acap.Field) (list []signalMember) {
	for text := range strings.SplitSeq(line, ",") {
		if text = strings.TrimSpace(text); text != "" {
			key, value, _ := strings.Cut(strings.ToLower(text), "=")
			list = append(list, signalMember{f, text, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return list
}

// signalMember is a member of a Content-Signal line. key and value are in lower case.
type signalMember struct {
	field            *acap.Field
	text, key, value string
}

// read reads one of the keys search, ai-input and ai-train.
func (m signalMember) read(report reporting, said opinions) {
	usages := signalUsages(m.key)
	at := m.field.At(m.text)
	written, _, _ := strings.Cut(m.text, "=")
	switch {
	case usages == nil && labels(m.key) != nil:
		other := map[string]string{"train-ai": "ai-train", "ai-use": "ai-input"}[m.key]
		report(at, "other-vocabulary", acap.Warning, "use the key "+other+", or write it in a Content-Usage line",
			m.key+" is a label of Content-Usage: in Content-Signal it says nothing")
	case usages == nil:
		report(m.field.At(strings.TrimSpace(written)), "unknown-label", acap.Notice,
			meant(m.key, "use search, ai-input, ai-train and use", "search", "ai-input", "ai-train"),
			"the key "+m.key+" is unknown and says nothing")
	case m.value == "yes":
		said.add(verdict(acap.Permits, m.field), usages...)
		m.reportCase(report)
	case m.value == "no":
		said.add(verdict(acap.Prohibits, m.field), usages...)
		m.reportCase(report)
	case m.value == "y" || m.value == "n":
		report(at, "other-vocabulary", acap.Warning, hintFor(signals{}, m.text, ""),
			m.value+" is a value of Content-Usage: in Content-Signal it says nothing")
	default:
		report(at, "unknown-preference", acap.Warning, hintFor(signals{}, m.text,
			"write "+m.key+"=yes or "+m.key+"=no"), "the value of "+m.key+" is neither yes nor no, so it says nothing")
	}
}

// reportCase reports capital letters, of which the policy of Content Signals says nothing.
func (m signalMember) reportCase(report reporting) {
	if m.text != strings.ToLower(m.text) {
		report(m.field.At(m.text), "letter-case", acap.Notice, hintFor(signals{}, m.text, ""),
			"this is read in lower case, but not every crawler reads it like that")
	}
}

// readUse reads the key use, by which a publisher says how much of a page a service may keep and
// show.
func (v signals) readUse(m signalMember, report reporting, said opinions) {
	copies := []acap.Usage{acap.Preserve, acap.PresentCurrentCopy, acap.PresentOldCopy, acap.PresentThumbnail,
		acap.PresentOldThumbnail}
	if isUse(m.value) {
		m.reportCase(report)
	}
	switch {
	case !isUse(m.value):
		report(m.field.At(m.text), "unknown-preference", acap.Warning, hintFor(signals{}, m.text,
			"write use=immediate, use=reference or use=full"), "the value of use is unknown, so it says nothing")
	case v.useOff:
	case m.value == "immediate":
		said.add(verdict(acap.Prohibits, m.field), held()...)
	case m.value == "reference":
		said.add(verdict(acap.Prohibits, m.field), copies...)
	default:
		said.add(verdict(acap.Permits, m.field), held()...)
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
