package present

import (
	"context"
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Copy is an archived copy, prepared for showing.
type Copy struct {
	URL       string      `json:"url"`
	Version   int         `json:"version"`
	Fetched   time.Time   `json:"fetched"`
	Current   bool        `json:"current"`
	Status    int         `json:"status"`
	Header    http.Header `json:"header"`
	Body      []byte      `json:"body_base64"`
	Cut       bool        `json:"cut"`       // elements were removed because they may not be kept or shown (N28)
	Truncated bool        `json:"truncated"` // the page was longer than the stored part
	// Body is the rendered document, which the scripts of the page made, in UTF-8; otherwise it is the page as sent
	Rendered bool `json:"rendered,omitempty"`
	// Cuts lists what was not stored, parsed or indexed because it was too large.
	Cuts    []string          `json:"cuts,omitempty"`
	Include []snippet.Include `json:"include,omitempty"`
	Limits  acap.Limits       `json:"limits"`

	Decision acap.Decision `json:"-"` // the permission
	// Rewritable reports that the terms permit changing links in the copy.
	Rewritable bool `json:"-"`
}

var copies = form{current: acap.PresentCurrentCopy, old: acap.PresentOldCopy}

// Copy returns the stored copy of rawurl that the parameter which selects. By default this is the
// current copy, or the latest copy if there is no current one. The error is ErrNotHeld if no copy
// is stored, and an *acap.Refused if the copy may not be shown to the reader.
//
// If the page was rendered, Copy returns the rendered document, unless the terms prohibit modifications.
func (p *Presenter) Copy(ctx context.Context, rawurl string, which Which, who Reader) (Copy, error) {
	return p.copyOf(ctx, rawurl, which, who, false)
}

// SentCopy is Copy for the page as sent, before its scripts ran.
func (p *Presenter) SentCopy(ctx context.Context, rawurl string, which Which, who Reader) (Copy, error) {
	return p.copyOf(ctx, rawurl, which, who, true)
}

func (p *Presenter) copyOf(ctx context.Context, rawurl string, which Which, who Reader, sent bool) (Copy, error) {
	v, err := p.version(ctx, rawurl, which, who, copies)
	if err != nil {
		return Copy{}, err
	}
	v.sent = sent
	return p.showCopy(ctx, v, who)
}

// showCopy returns the copy v, if it may be shown, and records that it was shown.
func (p *Presenter) showCopy(ctx context.Context, v *version, who Reader) (Copy, error) {
	d, body, cut := v.decideCopy(who)
	if !d.Allowed {
		return Copy{}, v.refuse(d)
	}
	c := v.capture
	out := Copy{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Current: c.Current, Status: c.Status,
		Header: c.Header, Body: body,
		Cut: cut || c.Cut, Truncated: c.Truncated, Cuts: c.Cuts, Include: v.Included(v.usage),
		Limits: d.Limits(v.facts), Decision: d, Rewritable: d.Changing(everyChange, "links are changed").Allowed}
	if out.Rendered = v.showsRendered(d); out.Rendered {
		out.Header = remade(c.Header)
		out.Header.Set("Content-Type", v.Page().DocumentType())
		return out, p.shown(ctx, v.resource.URL)
	}
	if out.Cut || out.Truncated || c.Header.Get("Content-Encoding") != "" {
		out.Header = remade(c.Header)
	}
	return out, p.shown(ctx, v.resource.URL)
}

// decideCopy decides whether the copy v may be shown, and returns the bytes that may be shown. cut
// reports that these are not all bytes of the copy. If v has no page, only its statements are known:
// then body is nil, and v must have no part that may not be shown.
func (v *version) decideCopy(who Reader) (d acap.Decision, body []byte, cut bool) {
	if d = v.Decide(acap.Preserve); !d.Allowed {
		return d, nil, false
	}
	if d = v.Decide(v.usage); !d.Allowed {
		return d, nil, false
	}
	if v.Page() != nil {
		var ok bool
		// N28: if a prohibited element cannot be cut out, the whole copy is refused
		form := v.Terms.SentCopy
		if v.showsRendered(d) {
			form = v.Terms.Copy
		}
		if body, cut, ok = form(v.usage); !ok {
			if part, barred := v.FirstBarred(v.usage); barred {
				d = part
			}
			return d.Refuse(acap.ByProhibition, "that part cannot be cut out"), nil, false
		}
	}
	c := v.capture
	if cut {
		d = d.Changing(less, "parts of the page may not be shown")
	}
	if c.Cut {
		d = d.Changing(less, "parts of the page may not be kept")
	}
	if c.Truncated {
		d = d.Changing(less, "the end of the page is not archived")
	}
	return d.Within(v.context(who, !cut && !c.Cut && !c.Truncated)), body, cut
}

// showsRendered reports whether the rendered document is shown under d, and not the page as sent. If a
// modification is prohibited, only the page as sent is shown (P1 2.5.5.5).
func (v *version) showsRendered(d acap.Decision) bool {
	return !v.sent && v.Page() != nil && v.Page().Rendered() &&
		d.Changing(everyChange, "its scripts changed it").Allowed
}

// remade returns the header to show with a body that was changed after it was received. It removes
// the fields that describe the original bytes.
func remade(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Digest", "Content-Md5", "Digest",
		"Etag", "Repr-Digest"} {
		h.Del(name)
	}
	return h
}
