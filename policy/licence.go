package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// maxLicences is how many licence documents of pages are kept in memory.
const maxLicences = 256

// Licences returns the associations of a page with licence documents, with the documents that it
// names. It requests each document once while it is fresh. If the crawler does not obey the vocabulary
// that reads licences, Licences requests nothing and returns list. A document that cannot be read has
// an Err; the error of Licences comes from ctx.
func (a *Authority) Licences(ctx context.Context, list []acap.Licence) ([]acap.Licence, error) {
	reads := func(v acap.Vocabulary) bool { return v.Name() == licensing }
	if !slices.ContainsFunc(list, func(l acap.Licence) bool { return l.URL != "" }) ||
		!slices.ContainsFunc(a.crawler.Vocabularies, reads) {
		return list, nil
	}
	list = slices.Clone(list)
	for i := range list {
		l := &list[i]
		if l.URL == "" {
			continue
		}
		d, err := a.licence(ctx, l.URL)
		if err != nil {
			return nil, err
		}
		l.Final, l.Text, l.Err = d.Final, d.Text, d.Err
	}
	return list, nil
}

// licensing is the name of the vocabulary that reads licence documents.
const licensing = "rsl"

// licence returns the licence document at rawurl. Concurrent callers share one request. A document
// that could not be read is requested again after its retry time.
func (a *Authority) licence(ctx context.Context, rawurl string) (Document, error) {
	for {
		a.mu.Lock()
		d, known := a.licences[rawurl]
		if known && (a.fresh(d) || d.Err != "" && a.o.Now().Before(d.Expires)) {
			a.mu.Unlock()
			return d, nil
		}
		read, reading := a.reading[rawurl]
		if !reading {
			read = make(chan struct{})
			a.reading[rawurl] = read
		}
		a.mu.Unlock()
		if !reading {
			return a.readLicence(ctx, rawurl, d, read)
		}
		select {
		case <-read: // the caller that read it may have been cancelled
		case <-ctx.Done():
			return Document{}, context.Cause(ctx)
		}
	}
}

// readLicence requests a licence document, of which held is the last state, and closes read.
func (a *Authority) readLicence(ctx context.Context, rawurl string, held Document, read chan struct{}) (Document,
	error) {
	defer func() {
		a.mu.Lock()
		delete(a.reading, rawurl)
		a.mu.Unlock()
		close(read)
	}()
	d, _, err := a.read(ctx, rawurl, held)
	switch {
	case errors.Is(err, ErrNotRequested): // not stored, so that the next caller requests it
		return Document{URL: rawurl, Err: err.Error()}, nil
	case err != nil:
		return Document{}, err
	}
	if lasts := a.lifetime(licensing, d.Text); d.Err == "" && lasts > 0 {
		d.Expires = d.Fetched.Add(lasts)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.licences) >= maxLicences {
		clear(a.licences)
	}
	a.licences[rawurl] = d
	return d, nil
}
