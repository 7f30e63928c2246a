package archive

import "time"

// receivePast stores a capture that is older than the last crawl of its URL as an earlier version.
// It changes only dates in the resource.
func (t *txn) receivePast(d *Deposit, p *prepared, h held) (c Capture, err error) {
	r := h.Resource
	r.since(d, t.a.now())
	if d.Body != nil {
		r.Versions++
		if c, err = t.putCapture(d, p, r.Versions); err != nil {
			return Capture{}, err
		}
		if err := t.tx.Bucket(bEarlier).Put(versionKey(r.URL, c.Version), idKey(c.ID)); err != nil {
			return Capture{}, err
		}
	}
	return c, t.putResource(h, r, h.plain)
}

// receiveRedirect stores a redirect as an earlier version, never as the current version.
func (t *txn) receiveRedirect(d *Deposit, p *prepared, h held) (Capture, error) {
	if d.Replace && !d.Past {
		if err := t.eraseVersions(h.URL, h.Current); err != nil {
			return Capture{}, err
		}
		h.Current = 0
	}
	return t.receivePast(d, p, h)
}

// since moves the first dates of r back to the dates of an imported capture. The date of discovery
// is the time of the import, not of the fetch.
func (r *Resource) since(d *Deposit, now time.Time) {
	back := func(date *time.Time, to ...time.Time) {
		for _, t := range to {
			if !t.IsZero() && (date.IsZero() || t.Before(*date)) {
				*date = t
			}
		}
	}
	back(&r.FirstCrawled, d.Resource.FirstCrawled, d.Fetched)
	if d.Body != nil {
		back(&r.FirstPreserved, d.Fetched)
	}
	back(&r.FirstPreserved, d.Resource.FirstPreserved)
	back(&r.FirstIndexed, d.Resource.FirstIndexed)
	back(&r.FirstPresented, d.Resource.FirstPresented)
	setOnce(&r.FirstIndexed, now, r.Indexed)
}
