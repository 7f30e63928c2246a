package preference

import "github.com/acapcrawl/acapcrawl/acap"

// noai is the vocabulary of the rules noai and noimageai in robots META tags, X-Robots-Tag and
// Robots-Tag.
type noai struct{}

// Name implements acap.Vocabulary.
func (noai) Name() string { return "noai" }

// Key implements acap.Vocabulary.
func (v noai) Key() string { return v.Name() }

// Files implements acap.Vocabulary.
func (noai) Files(*acap.Site) []acap.Needed { return nil }

// Site implements acap.Vocabulary.
func (noai) Site(*acap.Site) acap.Preferences { return nil }

// Page reads the rules of a page. noimageai is about images: on the response of an image it is
// about that image, on a page it says nothing about the page.
func (noai) Page(p *acap.Page, _ acap.Preferences) acap.Preferences {
	said := opinions{}
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.Name != acap.NoAI && r.Name != acap.NoImageAI {
			continue
		}
		if r.Name == acap.NoImageAI && !p.Image {
			p.Report(r.Field.At(r.Name), "image-rule", acap.Notice,
				"send it with each image, or write noai for the page",
				"noimageai says nothing about the page, only about the image that it is sent with")
			continue
		}
		said.add(verdict(acap.Prohibits, r.Field), acap.TrainAI)
	}
	return said.orNil()
}

// plusDMI is the vocabulary of the term plus:DataMining in the XMP of an image (PLUS, IPTC 2023.1).
// It is about this image only.
type plusDMI struct{}

// Name implements acap.Vocabulary.
func (plusDMI) Name() string { return "plus-dmi" }

// Key implements acap.Vocabulary.
func (v plusDMI) Key() string { return v.Name() }

// Files implements acap.Vocabulary.
func (plusDMI) Files(*acap.Site) []acap.Needed { return nil }

// Site implements acap.Vocabulary.
func (plusDMI) Site(*acap.Site) acap.Preferences { return nil }

// Page reads the term of an image. Several values are combined.
func (plusDMI) Page(p *acap.Page, _ acap.Preferences) acap.Preferences {
	if p.Plus == nil {
		return nil
	}
	said := opinions{}
	for _, value := range p.Plus.DataMining {
		f := &acap.Field{Source: acap.Image, URL: p.URL, Line: 1, Column: 1, Text: "plus:DataMining: " + value}
		four := acap.NewerUsages()
		switch term := acap.PlusTerm(value); term {
		case "DMI-UNSPECIFIED":
		case "DMI-ALLOWED":
			said.add(verdict(acap.Permits, f), four...)
		case "DMI-PROHIBITED":
			said.add(verdict(acap.Prohibits, f), four...)
		case "DMI-PROHIBITED-AIMLTRAINING", "DMI-PROHIBITED-GENAIMLTRAINING":
			said.add(verdict(acap.Prohibits, f), acap.TrainAI)
		case "DMI-PROHIBITED-EXCEPTSEARCHENGINEINDEXING":
			said.add(verdict(acap.Prohibits, f), four...)
			said.add(verdict(acap.Permits, f), acap.Index)
		case "DMI-PROHIBITED-SEECONSTRAINT", "DMI-PROHIBITED-SEEEMBEDDEDRIGHTSEXPR",
			"DMI-PROHIBITED-SEELINKEDRIGHTSEXPR":
			said.add(verdict(acap.Agreement, f), four...)
		default:
			p.Report(f, "unknown-preference", acap.Warning, "write a term of the PLUS vocabulary, such as DMI-ALLOWED",
				"the value of plus:DataMining is no known term, so it says nothing")
		}
	}
	return said.orNil()
}
