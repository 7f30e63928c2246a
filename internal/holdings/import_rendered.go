package holdings

import (
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/warc"
)

// mostRendered is how many bytes of a rendered document are imported even if a body may have fewer: a crawl may have
// made it of several resources.
const mostRendered = 80 << 20

// readConversion reads a conversion record. If it is the rendered document of the response before it, it is kept
// with that response; otherwise it is reported as skipped.
func (m *importer) readConversion(rec *warc.Record) error {
	if why := m.noRendered(rec); why != "" {
		m.skipRecord(rec, why)
		return nil
	}
	block, err := m.readBlock(rec)
	if block == nil {
		return err
	}
	switch wrong := rec.Check(block, block); {
	case wrong != "":
		m.reportDamage(rec, wrong)
	case !utf8.Valid(block):
		m.skipRecord(rec, "its document is not UTF-8")
	default:
		m.open.rendered = block
	}
	return nil
}

// noRendered returns why a conversion record is not the rendered document of the open response; "" if
// it is.
func (m *importer) noRendered(rec *warc.Record) string {
	kind, options, err := mime.ParseMediaType(rec.ContentType())
	charset := options["charset"]
	x := m.open
	switch {
	case err != nil || kind != "text/html" || charset != "" && !strings.EqualFold(charset, "utf-8"):
		return fmt.Sprintf("it is a conversion to %q, not to HTML in UTF-8", rec.ContentType())
	case x == nil || rec.Fields.Get(warc.RefersTo) != warc.Ref(x.id):
		return "it is a conversion of another record than the response before it"
	case x.redirect || x.result.Outcome != "":
		return "it is a conversion of a response that is not a page, or not imported"
	case x.rendered != nil:
		return "its page already has a rendered document"
	case rec.Fields.Get(warc.Truncated) != "" || rec.Fields.Get(warc.SegmentNumber) != "":
		return "it is incomplete"
	case rec.Length > max(m.o.MaxBody, mostRendered):
		return fmt.Sprintf("it has %d bytes, and a rendered document may have %d", rec.Length,
			max(m.o.MaxBody, mostRendered))
	}
	return ""
}

// skipRecord reports a record that is not imported.
func (m *importer) skipRecord(rec *warc.Record, why string) {
	m.add(&incoming{result: Imported{Offset: rec.Offset, URL: rec.Target(), Outcome: Unfit, Why: why}})
}
