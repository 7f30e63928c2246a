package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/page"
)

// skipReport writes which usages were not possible for each address, and why: a line of JSON for
// each address and usage. The crawl calls flush often, so that few lines are lost if the process is
// killed. Its methods may be called concurrently.
type skipReport struct {
	name   string
	w      io.Writer
	file   *os.File // the report file; nil for standard output
	failed func()   // called once, at the first failed write

	mu      sync.Mutex
	pending bytes.Buffer // complete lines that are not written yet
	err     error
}

// reportEntry is one line of the report.
type reportEntry struct {
	URL string     `json:"url"`
	Use acap.Usage `json:"use"` // crawl, follow, preserve, index, present-thumbnail, or a usage of acap.Crawler.For
	// an acap.Reason if policy decided, otherwise a crawler.State or one of the constants below
	Reason string      `json:"reason"`
	Why    string      `json:"why"` // the reason as a sentence
	Line   *reportLine `json:"line,omitempty"`
	Final  string      `json:"final_url,omitempty"` // the URL after all redirects
	Time   time.Time   `json:"time"`
}

// Reasons of the report that are neither an acap.Reason nor a crawler.State.
const (
	reasonTakenDown = "taken-down" // P1 2.6.1: a take-down requested by the publisher is in force
	reasonStatus    = "status"     // the HTTP status, for example 404, means that there is no page
	reasonNoText    = "no-text"    // the page has no text to index
	reasonScripts   = "scripts"    // the page could not be rendered, or appears empty because its scripts were not run
	reasonCut       = "cut"        // a part of the page was not kept, read or indexed, because a limit was reached
	reasonUndrawn   = "not-drawn"  // no thumbnail was made of the page; the next fetch of the page tries again
)

// reportLine is the policy line that decided.
type reportLine struct {
	Source acap.Source `json:"source"`
	URL    string      `json:"url"`
	Line   int         `json:"line"`
	Text   string      `json:"text"`
}

// openReport opens the report file with the given name; if the file exists, lines are appended. "-"
// means stdout, which the caller closes.
func openReport(name string, stdout io.Writer, failed func()) (*skipReport, error) {
	r := &skipReport{name: name, w: stdout, failed: failed}
	if name == "-" {
		r.name = "standard output"
		return r, nil
	}
	whole, err := endsLine(name)
	if err == nil {
		r.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	}
	if err != nil {
		return nil, misuse("another file with --report", "the report cannot be written: %v", err)
	}
	r.w = r.file
	if !whole { // the file ends within a line, because a process was killed
		r.pending.WriteByte('\n')
	}
	return r, nil
}

// endsLine reports whether a line can be appended to a file: it is empty, ends with a newline, or
// is not a regular file.
func endsLine(name string) (bool, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular() || info.Size() == 0:
		return true, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] == '\n', err
}

// skipped reports an address that was not fetched.
func (r *skipReport) skipped(s crawler.Skip) {
	e := reportEntry{URL: s.URL, Use: acap.Crawl, Reason: string(s.State), Why: s.Why, Final: s.Final, Time: s.When}
	if s.Decision.Usage != "" {
		e.Use, e.Reason, e.Line = s.Decision.Usage, string(s.Decision.Reason), lineOf(s.Decision.Because)
	}
	if s.TakeDown != nil {
		e.Reason, e.Line = reasonTakenDown, lineOf(s.TakeDown)
	}
	r.add(e)
}

// received reports the usages that were not possible for a page that was fetched. If the page was
// discarded, received reports nothing, because the crawler reports that page.
func (r *skipReport) received(pg *page.Page, got holdings.Receipt) {
	if got.Discarded {
		return
	}
	entry := reportEntry{URL: pg.Hops()[0].URL, Time: pg.Last().Start}
	if at := pg.URL().String(); at != entry.URL {
		entry.Final = at
	}
	for _, d := range refusals(got.Refused) {
		e := entry
		e.Use, e.Reason, e.Line = d.Usage, string(d.Reason), lineOf(d.Because)
		e.Why = d.Err(pg.URL().String()).Error()
		r.add(e)
	}
	if got.Undrawn != nil {
		e := entry
		e.Use, e.Reason, e.Why = acap.PresentThumbnail, reasonUndrawn, fmt.Sprintf("%s is not rendered: %v", pg.URL(),
			got.Undrawn)
		r.add(e)
	}
	for _, why := range got.Cuts {
		e := entry
		e.Use, e.Reason, e.Why = acap.Crawl, reasonCut, fmt.Sprintf("%s is cut: %s", pg.URL(), why)
		r.add(e)
	}
	status := pg.Last().Status
	if status/100 == 2 && !pg.Rendered() && pg.AppearsEmpty() {
		e := entry
		e.Use, e.Reason = acap.Index, reasonScripts
		e.Why = fmt.Sprintf("%s appears empty: what its scripts add is not seen, because they are not run; "+
			"crawl --render runs them", pg.URL())
		r.add(e)
	}
	for _, use := range []acap.Usage{acap.Preserve, acap.Index} {
		e := entry
		e.Use = use
		switch {
		case got.TakenDown != nil:
			e.Reason, e.Line = reasonTakenDown, lineOf(got.TakenDown)
			e.Why = fmt.Sprintf("%s is not archived: its publisher asks that it be taken down: %s", pg.URL(),
				got.TakenDown)
		case status < 200 || status > 299 && status != 304:
			e.Reason, e.Why = reasonStatus, fmt.Sprintf("%s answered with status %d", pg.URL(), status)
		case use == acap.Index && got.Textless:
			e.Reason, e.Why = reasonNoText, fmt.Sprintf("%s is not indexed: it holds no text", pg.URL())
		default:
			continue
		}
		r.add(e)
	}
}

// unrendered reports a page that could not be rendered.
func (r *skipReport) unrendered(pg *page.Page, why error) {
	r.add(reportEntry{URL: pg.Hops()[0].URL, Use: acap.Index, Reason: reasonScripts, Time: pg.Last().Start,
		Why: fmt.Sprintf("%s could not be rendered, so only the page as sent is used: %v", pg.URL(), why)})
}

// refusals returns list with one decision about each usage of acap.Crawler.For, in place of those that
// are refused because of this usage.
func refusals(list []acap.Decision) (out []acap.Decision) {
	for _, d := range list {
		d = d.AboutFor()
		if !slices.ContainsFunc(out, func(o acap.Decision) bool { return o.Usage == d.Usage }) {
			out = append(out, d)
		}
	}
	return out
}

func lineOf(f *acap.Field) *reportLine {
	if f == nil {
		return nil
	}
	return &reportLine{f.Source, f.URL, f.Line, f.Text}
}

func (r *skipReport) add(e reportEntry) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := display.Encoder(&r.pending).Encode(e); err != nil {
		r.fail(err)
	}
}

// flush writes the collected lines. If that fails, the next flush tries again.
func (r *skipReport) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending.Len() == 0 {
		return
	}
	r.err = nil
	n, err := r.w.Write(r.pending.Bytes())
	r.pending.Next(n)
	if err != nil {
		r.fail(err)
	}
}

func (r *skipReport) fail(err error) {
	r.err = err
	if r.failed != nil {
		r.failed()
		r.failed = nil
	}
}

// Close writes the remaining lines. It returns an error if lines could not be written.
func (r *skipReport) Close() error {
	r.flush()
	r.mu.Lock()
	err := r.err
	r.mu.Unlock()
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	if err != nil {
		return failure("free space, then go on with acapcrawl crawl", fmt.Errorf(
			"the report cannot be written: %w; it lacks its last %s, and nothing else is lost", err, several(
				bytes.Count(r.pending.Bytes(), []byte("\n")), "line")))
	}
	return nil
}
