package preference

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// offer is a licence while a document is checked.
type offer struct {
	seen     map[string]bool // the elements that may not be repeated, with their types
	permits  []token
	forbids  usageSet
	byWidth  [all + 1]usageSet // what is prohibited by tokens of each width
	personal bool              // the licence has terms user or geo
}

// token is a token of permits or prohibits for usages.
type token struct {
	name  string
	field *acap.Field
}

// usageSet is a set of the usages that the tokens of RSL distinguish.
type usageSet uint8

// tokenUsages returns what a token names, and its width. The set is empty for an unknown token.
func tokenUsages(name string) (set usageSet, width int) {
	switch name {
	case "ai-train":
		return 1, exact
	case "ai-input":
		return 2, exact
	case "ai-index":
		return 4, exact
	case "search":
		return 8, exact
	case "ai-all":
		return 7, aiAll
	case "all":
		return 31, all // the last bit stands for the other usages
	}
	return 0, exact
}

// checkOffer checks an element license.
func (c *licenceCheck) checkOffer() (*offer, error) {
	o := &offer{seen: map[string]bool{}}
	err := c.each("license", func(e xml.StartElement, at *acap.Field) error {
		switch name := e.Name.Local; name {
		case "permits", "prohibits":
			return c.checkTerms(e, at, o)
		case "payment":
			if o.seen[name] {
				c.Report(at, "repeated-element", acap.Warning, "write a second license for it",
					"a license may have one payment; of several, all must be made")
			}
			o.seen[name] = true
			return c.checkPayment(e, at)
		default:
			c.checkKind(e, at)
			return c.Skip()
		}
	})
	return o, err
}

// checkTerms checks an element permits or prohibits.
func (c *licenceCheck) checkTerms(e xml.StartElement, at *acap.Field, o *offer) error {
	name, kind := e.Name.Local, attribute(e, "type")
	switch key := name + " " + kind; {
	case kind != "usage" && kind != "user" && kind != "geo":
		c.Report(c.value("type", at), "unknown-type", acap.Error,
			meant(kind, `write type="usage", "user" or "geo"`, "usage", "user", "geo"),
			fmt.Sprintf("the type of %s is none of usage, user and geo, so the document cannot be read", name))
	case o.seen[key]:
		c.Report(at, "repeated-element", acap.Error, "put all tokens into one element",
			fmt.Sprintf("a second element %s of the type %s: the document cannot be read", name, kind))
	default:
		o.seen[key] = true
	}
	from, findings := int(c.InputOffset()), len(c.Findings())
	text, err := c.textOf(e)
	if err != nil {
		return err
	}
	region := c.text[from:max(from, int(c.InputOffset()))]
	if i := bytes.LastIndex(region, []byte("</")); i >= 0 && len(c.Findings()) == findings {
		region = region[:i]
	} else { // <permits/>, or a finding about the inside that is behind its words
		region = nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	switch {
	case len(words) == 0:
		c.reportEmpty(name, kind, at)
	case strings.Contains(text, ","):
		c.reportCommas(words, from, region, at)
	}
	for _, word := range words {
		f := at
		if i := bytes.Index(region, []byte(word)); i >= 0 && from+i >= c.offset {
			f = c.mark(acap.Licensing, c.url, from+i, from+i+len(word))
			from, region = from+i+len(word), region[i+len(word):]
		}
		c.checkToken(name, kind, token{word, f}, o)
	}
	o.personal = o.personal || kind == "user" || kind == "geo"
	return nil
}

// reportEmpty reports an element without tokens.
func (c *licenceCheck) reportEmpty(name, kind string, at *acap.Field) {
	so := "it prohibits nothing"
	if name == "permits" {
		so = "the list is closed, so nothing is permitted"
	}
	c.Report(at, "empty-terms", acap.Warning, "name what it is about, or leave it out",
		fmt.Sprintf("%s of the type %s names nothing: %s", name, kind, so))
}

// reportCommas reports tokens that are separated by commas. region is the text between the tags,
// which begins at the offset from; nil if it is not known.
func (c *licenceCheck) reportCommas(words []string, from int, region []byte, at *acap.Field) {
	trimmed := bytes.TrimLeft(region, " \t\r\n")
	start := from + len(region) - len(trimmed)
	if trimmed = bytes.TrimRight(trimmed, " \t\r\n"); len(trimmed) > 0 {
		at = c.mark(acap.Licensing, c.url, start, start+len(trimmed))
	}
	c.Report(at, "comma-separated", acap.Warning, "write "+strings.Join(words, " "),
		"RSL 1.0 separates by blanks; the commas of earlier drafts are read too, but not by every crawler")
}

// checkToken checks one token.
func (c *licenceCheck) checkToken(name, kind string, t token, o *offer) {
	known := map[string][]string{"usage": {"all", "ai-all", "ai-train", "ai-input", "ai-index", "search"},
		"user": {"commercial", "non-commercial", "education", "government", "personal"}}[kind]
	country := func(s string) bool { return len(s) == 2 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'A' && s[1] <= 'Z' }
	other := map[string]string{"train-ai": "ai-train", "ai-use": "ai-input"}[t.name]
	switch upper := strings.ToUpper(t.name); {
	case kind == "geo" && country(t.name), kind != "geo" && slices.Contains(known, t.name):
		if kind == "usage" {
			o.add(name, t)
		}
	case kind == "geo" && country(upper):
		c.Report(t.field, "unknown-token", acap.Warning, "write "+upper,
			"codes of countries are in upper case, so this names no country")
	case kind == "geo":
		c.Report(t.field, "unknown-token", acap.Warning, "write two letters of ISO 3166-1, or EU",
			"this names no country")
	case kind == "usage" && other != "":
		c.Report(t.field, "other-vocabulary", acap.Warning, "write "+other,
			t.name+" is a label of Content-Usage: here it names nothing")
	case known != nil:
		c.Report(t.field, "unknown-token", acap.Warning, meant(t.name, "use "+strings.Join(known, ", "), known...),
			t.name+" is unknown and names nothing")
	}
}

// add adds a token for usages of an element with the given name.
func (o *offer) add(element string, t token) {
	set, width := tokenUsages(t.name)
	if element == "permits" {
		o.permits = append(o.permits, t)
		return
	}
	o.forbids |= set
	o.byWidth[width] |= set
}

// reportContradictions reports permitted tokens of a content that have no effect, because
// everything that they name is prohibited in the same licence, or in another licence with a token
// that is as narrow (RSL 3.1.1).
func (c *licenceCheck) reportContradictions(offers []*offer) {
	var others [all + 1]usageSet // what licences for everybody prohibit with tokens of at most each width
	for _, o := range offers {
		if o == nil || o.personal {
			continue
		}
		var narrower usageSet
		for w := range others {
			narrower |= o.byWidth[w]
			others[w] |= narrower
		}
	}
	for _, o := range offers {
		if o == nil {
			continue
		}
		for _, t := range o.permits {
			set, width := tokenUsages(t.name)
			left, where := set&^o.forbids, "the same licence"
			if left != 0 && !o.personal {
				left, where = left&^others[width], "another licence for the same content"
			}
			if left == 0 {
				c.Report(t.field, "contradictory-preference", acap.Warning, "keep one of them",
					fmt.Sprintf("%s is permitted, and prohibited in %s: it is prohibited", t.name, where))
			}
		}
	}
}
