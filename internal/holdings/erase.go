package holdings

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
)

// Erase removes everything stored for a URL at its publisher's request, in all spellings of the
// URL, and the records of URLs that redirect to it. n is the number of copies erased. Erase may be
// called again for the same request, because the request stays in robots.txt (P04).
func (h *Holdings) Erase(ctx context.Context, rawurl, why, line string) (n int, err error) {
	addresses, err := h.Spellings(rawurl)
	for _, address := range addresses {
		if err != nil {
			return n, err
		}
		var erased int
		erased, err = h.erase(ctx, archive.Tombstone{URL: address, Reason: archive.ReasonTakenDown, Why: why,
			Line: line, Asked: true}, true)
		n += erased
	}
	return n, err
}

// Aliases returns the addresses that redirect to the page at address (X66).
func (h *Holdings) Aliases(address string) ([]string, error) { return h.archive.Aliases(address) }

// Holds reports whether anything is stored for a URL, in any spelling, that Erase would remove.
func (h *Holdings) Holds(rawurl string) (bool, error) {
	addresses, err := h.Spellings(rawurl)
	for _, address := range addresses {
		if err != nil {
			return false, err
		}
		var held bool
		if held, err = h.archive.Holds(address); held {
			return true, err
		}
	}
	return false, err
}

// doubtful inserts a zero byte before each * and $ in a URL, also if the character is written as
// %2A or %24. A policy must use these escapes, but an address may contain the character in either
// form (X33).
var doubtful = strings.NewReplacer("*", "\x00*", "$", "\x00$", "%2A", "\x00*", "%24", "\x00$")

// maxDoubtful is the greatest number of such characters in a URL for which both forms are tried.
// Without a limit, a site could force a search of exponentially many spellings.
const maxDoubtful = 8

// Spellings returns the addresses that a request for rawurl may mean: rawurl itself, and those
// spellings for which something is stored. Of the first maxDoubtful asterisks and dollar signs, all
// combinations are tried. All further ones are written in one form.
func (h *Holdings) Spellings(rawurl string) ([]string, error) {
	parts := strings.Split(doubtful.Replace(rawurl), "\x00")
	list := parts[:1:1]
	for i := 1; i < len(parts); i++ {
		rest := parts[i : i+1]
		if i > maxDoubtful {
			rest = parts[i:]
		}
		var longer []string
		for _, front := range list {
			for _, written := range []func(string) string{raw, escaped} {
				some, err := h.archive.Begins(front + written(rest[0][:1]))
				if err != nil {
					return nil, err
				}
				if some {
					longer = append(longer, front+joinSpelling(rest, written))
				}
			}
		}
		list = longer
		i += len(rest) - 1
	}
	list = append(list, rawurl)
	slices.Sort(list)
	return slices.Compact(list), nil
}

func raw(sign string) string     { return sign }
func escaped(sign string) string { return url.QueryEscape(sign) }

// joinSpelling joins parts, after replacing the first character of each part by the result of
// written.
func joinSpelling(parts []string, written func(sign string) string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(written(part[:1]) + part[1:])
	}
	return b.String()
}

// erase removes everything stored for the address of t, stores t as the tombstone, and withdraws what was made from the
// page; if scripted is set, also pages that scripts made from it. n is the number of copies that it has erased.
func (h *Holdings) erase(ctx context.Context, t archive.Tombstone, scripted bool) (n int, err error) {
	g := groundOf(t)
	// this comes first: if erase is interrupted afterwards, the record of the page still exists and
	// causes the rest to be erased later
	if t.Derived, err = h.withdraw(ctx, t.URL, g, scripted); ctx.Err() != nil {
		return 0, err
	}
	// if another page is damaged, this one is erased nevertheless
	n, err = h.eraseOnly(ctx, t, func(archive.Resource) bool { return true })
	_, late := h.withdraw(ctx, t.URL, g, scripted) // fails again for a damaged page
	return n, errors.Join(err, late)
}

// eraseOnly removes everything stored for the address of t, if wanted is true for its current record, and stores t as
// the tombstone. It returns the number of copies that it has erased.
func (h *Holdings) eraseOnly(ctx context.Context, t archive.Tombstone, wanted func(archive.Resource) bool) (n int,
	err error) {
	address := t.URL
	r, known, err := h.archive.Resource(address)
	if err != nil || !wanted(r) {
		return 0, err
	}
	if err := h.stopAwaiting(ctx, address, everyPart); err != nil {
		return 0, err
	}
	held, err := h.archive.Holds(address)
	if err != nil || !known && !held && t.Derived == 0 {
		return 0, err
	}
	var failure error
	forgotten, err := h.applyChange(ctx, address, change{url: address, wait: true},
		func(known archive.Resource) (bool, error) {
			if !wanted(known) {
				return false, nil
			}
			n, failure = h.archive.Erase(ctx, t)
			after, _, err := h.archive.Resource(address)
			return !after.Indexed, err // even if Erase returned an error, it may have deleted the records of the page
		})
	if err == nil {
		err = forgotten()
	}
	return n, errors.Join(failure, err)
}

// Receipt returns what was erased for a URL, in all spellings, and what is left in archive and
// index.
func (h *Holdings) Receipt(rawurl string) (archive.Receipt, error) {
	out := archive.Receipt{URL: rawurl}
	addresses, err := h.Spellings(rawurl)
	for _, address := range addresses {
		if err != nil {
			return out, err
		}
		var r archive.Receipt
		r, err = h.receipt(address)
		out.Erasures, out.Left = append(out.Erasures, r.Erasures...), append(out.Left, r.Left...)
		out.Compacted, out.Pending = r.Compacted, out.Pending || r.Pending
	}
	slices.SortStableFunc(out.Erasures, func(a, b archive.Tombstone) int { return a.When.Compare(b.When) })
	return out, err
}

func (h *Holdings) receipt(address string) (archive.Receipt, error) {
	r, err := h.archive.Receipt(address)
	if err != nil {
		return r, err
	}
	known, _, err := h.archive.Resource(address)
	if err != nil || known.Indexed { // the receipt of the archive already reports this
		return r, err
	}
	found, err := h.indexer.index.Has(address)
	if found {
		r.Left = append(r.Left, archive.Problem{Where: "the index", What: "still contains it"})
	}
	return r, err
}
