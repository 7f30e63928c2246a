package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Passage is a snippet of one version, as it may be shown.
type Passage struct {
	URL     string          `json:"url"`
	Version int             `json:"version,omitempty"` // 0: no copy is held, the snippet is of an excerpt
	Fetched time.Time       `json:"fetched"`
	Current bool            `json:"current"`
	Snippet snippet.Snippet `json:"snippet"`
	Limits  acap.Limits     `json:"limits"`
}

var passages = form{current: acap.PresentSnippet, old: acap.PresentOldSnippet, instead: excerpted}

func excerpted(_ context.Context, r archive.Resource) (bool, error) {
	return r.Kept.Texts[acap.PresentSnippet].Text != "", nil
}

// Snippet gives a snippet of what is held of rawurl, with words of query preferred: of the current
// version where which names none, else of the latest. The error is ErrNotHeld where no text is
// held, and an *acap.Refused where none may be shown.
func (p *Presenter) Snippet(ctx context.Context, rawurl, query string, which Which, who Reader) (Passage, error) {
	v, err := p.version(ctx, rawurl, which, who, passages)
	if err != nil {
		return Passage{}, err
	}
	out := Passage{URL: v.resource.URL, Fetched: v.resource.LastCrawled, Current: true}
	if c := v.capture; c.ID != 0 {
		out.Version, out.Fetched, out.Current = c.Version, c.Fetched, c.Current
	}
	if !out.Current { // an old version is held by its copy alone
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
	out.Snippet.Include = append([]snippet.Include{}, out.Snippet.Include...) // an empty list, not null
	out.Limits = d.Limits(v.facts)
	return out, p.shown(ctx, v.resource.URL)
}

// snippetOf is the snippet that u permits, with the words searched for marked if that permits
// marks.
func snippetOf(t *terms.Terms, u acap.Usage, w snippet.Wanted) (s snippet.Snippet, ok bool) {
	if s, ok = t.Snippet(u, w); ok && !marked(t.Decide(u)) {
		s.Marks = nil
	}
	return s, ok
}
