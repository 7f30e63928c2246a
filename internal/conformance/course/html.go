package course

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

//go:embed report.html.tmpl
var reportPage string

// WriteHTML writes the report as one HTML page that loads no other files.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"shown":     display.Line,
		"several":   several,
		"protocols": Protocols,
		"class": func(o Outcome) string {
			switch o {
			case Violated:
				return "violated"
			case Kept, Used:
				return "kept"
			}
			return "untested"
		},
	}).Parse(reportPage)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}
