package view

// formField is a field of the policy explorer as the page shows it.
type formField struct {
	ID, Name, Label, Value string
	Example                string // shown while the field is empty
	Hint                   string
	List                   string // id of the list of suggestions; "": none
	Most                   int    // maximum number of characters; 0: no limit
	Wrong                  string // why the value cannot be used; "": it can
}

// The ids of the two forms, with which the ids of their fields begin.
const (
	formGet  = "get"  // asks about a stored policy
	formPost = "post" // asks about pasted texts
)

// fieldLabel returns the label of a field in a form.
func fieldLabel(form, name string) string {
	switch name {
	case "url":
		if form == formPost {
			return "Address or path of the page"
		}
		return "Address of a page"
	case "crawler":
		return "Crawler"
	case "purpose":
		return "Purposes"
	case "as_of":
		return "As of"
	case "reader_country":
		return "Country of the reader"
	case "reader_ip":
		return "IP address of the reader"
	case "reader_domain":
		return "Domain of the reader"
	case "robots":
		return "robots.txt"
	case "against":
		return "Another robots.txt to compare it with"
	case "page":
		return "HTML of the page"
	}
	return "Response headers"
}

// sent returns the id of the form that was sent.
func (p explainPage) sent() string {
	if p.Form.posted {
		return formPost
	}
	return formGet
}

// field returns a field of a form with its message, if its value cannot be used.
func (p explainPage) field(form, name, value string) formField {
	f := formField{ID: form + "-" + name, Name: name, Label: fieldLabel(form, name), Value: value}
	if p.Wrong != nil && p.Wrong.name == name && p.sent() == form {
		f.Wrong = "This " + p.Wrong.must + "."
	}
	return f
}

// WrongField returns the field whose value cannot be used.
func (p explainPage) WrongField() formField {
	f := p.field(p.sent(), p.Wrong.name, "")
	f.Wrong = p.Wrong.must
	return f
}

// Address returns the field for the address of a form.
func (p explainPage) Address(form string) formField {
	f := p.field(form, "url", p.Form.URL)
	f.Example = "https://example.org/a.html"
	return f
}

// Texts returns the fields for pasted texts.
func (p explainPage) Texts() []formField {
	return []formField{p.field(formPost, "robots", p.Form.Robots), p.field(formPost, "against", p.Form.Against),
		p.field(formPost, "page", p.Form.Page), p.field(formPost, "headers", p.Form.Headers)}
}

// Details returns the fields of a form that say for whom and when it asks.
func (p explainPage) Details(form string) []formField {
	crawler := p.field(form, "crawler", p.Form.Crawler)
	crawler.Example, crawler.List = "of this archive", p.list()
	crawler.Hint = "The name that robots.txt uses for it."
	purpose := p.field(form, "purpose", p.Form.Purpose)
	purpose.Hint = "What the crawler collects pages for, in the words of robots.txt, with blanks between them."
	asOf := p.field(form, "as_of", p.Form.AsOf)
	asOf.Example, asOf.Hint = "2026-01-31T12:00:00Z", "A time in UTC at which time limits are checked."
	country := p.field(form, "reader_country", p.Form.Country)
	country.Most, country.Hint = 2, "Two letters, such as BE."
	return []formField{crawler, purpose, asOf, country, p.field(form, "reader_ip", p.Form.IP),
		p.field(form, "reader_domain", p.Form.Domain)}
}

// Open reports whether the fields of Details are shown at once: one has a value, or a value that cannot be used.
func (p explainPage) Open(form string) bool {
	for _, f := range p.Details(form) {
		if f.Value != "" || f.Wrong != "" {
			return true
		}
	}
	return false
}

// listID is the id of the list of crawlers that the shown files name.
const listID = "crawlers"

func (p explainPage) list() string {
	if len(p.Crawlers) == 0 {
		return ""
	}
	return listID
}
