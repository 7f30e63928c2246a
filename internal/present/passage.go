package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Passage is a snippet of one stored version, prepared for showing.
type Passage struct {
	URL string `json:"url"`
	// version number of the copy; 0: no copy is stored, the snippet is made from an excerpt
	Version int             `json:"version,omitempty"`
	Fetched time.Time       `json:"fetched"`
	Current bool            `json:"current"`
	Snippet snippet.Snippet `json:"snippet"`
	Limits  acap.Limits     `json:"limits"`
}

var passages = form{current: acap.PresentSnippet, old: acap.PresentOldSnippet, instead: excerpted}

func excerpted(_ context.Context, r archive.Resource) (bool, error) {
	return r.Kept.Texts[acap.PresentSnippet].Text != "", nil
}

// Snippet returns a snippet of the version of rawurl that the parameter which selects. By default
// this is the current version, or the latest version if there is no current one. Passages with
// words of query are preferred. The error is ErrNotHeld if no text is stored, and an *acap.Refused
// if no snippet may be shown to the reader.
func (p *Presenter) Snippet(ctx context.Context, rawurl, query string, which Which, who Reader) (Passage, error) {
	v, err := p.version(ctx, rawurl, which, who, passages)
	if err != nil {
		return Passage{}, err
	}
	out := Passage{URL: v.resource.URL, Fetched: v.resource.LastCrawled, Current: true}
	if c := v.capture; c.ID != 0 {
		out.Version, out.Fetched, out.Current = c.Version, c.Fetched, c.Current
	}
	if !out.Current { // the text of an old version comes from its copy, which preserve must still permit
		if d := v.Decide(acap.Preserve); !d.Allowed {
			return Passage{}, v.refuse(d)
		}
	}
	d, ok := v.Decide(v.usage), false
	if out.Snippet, ok = snippetOf(v.Terms, v.usage, p.wanted(query, v.language)); !ok {
		if part, barred := v.FirstBarred(v.usage); d.Allowed && barred {
			d = part
		}
		if !d.Allowed {
			return Passage{}, v.refuse(d)
		}
		return Passage{}, ErrNotHeld
	}
	// copy the list, so that an empty list is written to JSON as [] and not as null
	out.Snippet.Include = append([]snippet.Include{}, out.Snippet.Include...)
	out.Limits = d.Limits(v.facts)
	return out, p.shown(ctx, v.resource.URL)
}

// snippetOf returns the snippet that usage u permits. The words of the query are highlighted only
// if the policy for u permits to highlight.
func snippetOf(t *terms.Terms, u acap.Usage, w snippet.Wanted) (s snippet.Snippet, ok bool) {
	if s, ok = t.Snippet(u, w); ok && !marked(t.Decide(u)) {
		s.Marks = nil
	}
	return s, ok
}
