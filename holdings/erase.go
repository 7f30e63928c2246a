package holdings

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
)

// Erase removes all that is held of a URL at its publisher's request, however it is spelt, and the
// URLs that lead to it. It returns the number of copies erased, and may be repeated (P04).
func (h *Holdings) Erase(ctx context.Context, rawurl, why, line string) (n int, err error) {
	addresses, err := h.Spellings(rawurl)
	for _, address := range addresses {
		if err != nil {
			return n, err
		}
		var erased int
		erased, err = h.erase(ctx, address, why, line)
		n += erased
	}
	return n, err
}

// Aliases gives the addresses that lead to the page at address (X66).
func (h *Holdings) Aliases(address string) ([]string, error) { return h.archive.Aliases(address) }

// Holds reports whether anything is held of a URL, however it is spelt, that Erase would remove.
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

// doubtful sets apart what a policy writes as %2A and %24, whichever way a URL has it (X33).
var doubtful = strings.NewReplacer("*", "\x00*", "$", "\x00$", "%2A", "\x00*", "%24", "\x00$")

// maxDoubtful is how many of those are tried both ways each: a site could have pages under every
// mixture, and lines that name them all.
const maxDoubtful = 8

// Spellings are the addresses that a request for rawurl names: it as it is, and those of which
// anything may be known. Behind maxDoubtful asterisks and dollars the others are written one way in
// each.
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
					longer = append(longer, front+spelt(rest, written))
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

// spelt joins parts that begin with a sign, each as written has it.
func spelt(parts []string, written func(sign string) string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(written(part[:1]) + part[1:])
	}
	return b.String()
}

func (h *Holdings) erase(ctx context.Context, address, why, line string) (n int, err error) {
	derived, err := h.withdraw(ctx, address) // first: cut short, it leaves what asks for the rest
	if err = errors.Join(err, h.unawait(ctx, address, every)); err != nil {
		return 0, err
	}
	held, err := h.archive.Holds(address)
	if err != nil {
		return 0, err
	}
	if _, known, err := h.archive.Resource(address); err != nil || !known && !held && derived == 0 {
		return 0, err
	}
	var failure error
	forgotten, err := h.tell(ctx, address, change{url: address, wait: true}, func(archive.Resource) (bool, error) {
		n, failure = h.archive.Erase(ctx, archive.Tombstone{URL: address, Reason: archive.ReasonTakenDown, Why: why,
			Line: line, Asked: true, Derived: derived})
		after, _, err := h.archive.Resource(address)
		return !after.Indexed, err // the records may be gone although it failed
	})
	if err == nil {
		err = forgotten()
	}
	_, late := h.withdraw(ctx, address)
	return n, errors.Join(failure, err, late)
}

// Receipt says what was erased of a URL, however it is spelt, and what is left of it, in the
// archive and in the index.
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
	if err != nil || known.Indexed { // which the archive tells
		return r, err
	}
	found, err := h.indexer.index.Has(address)
	if found {
		r.Left = append(r.Left, archive.Problem{Where: "the index", What: "still finds it"})
	}
	return r, err
}
