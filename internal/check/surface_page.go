package check

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Page requests the page at u if the policy permits it, and checks its statements and the resources
// that it requires. The error says why the page could not be read; the report then has a finding
// about that.
func (s *Surface) Page(ctx context.Context, u *url.URL) (*page.Page, error) {
	defer s.report.arrange()
	if down := terms.TakeDown(s.Origin.Policy, u); down != nil {
		s.tell(down, "", "page-not-requested", acap.Notice, "", "%s is to be taken down: it was not requested, and "+
			"its own statements were not checked", u)
		return nil, errors.New("its publisher asks that it be taken down")
	}
	pg, err := s.site.Fetcher.Page(ctx, u.String())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	top := &acap.Field{Source: acap.Meta, URL: u.String(), Line: 1, Column: 1}
	refused, is := errors.AsType[*acap.Refused](err)
	switch {
	case is:
		s.refused(top, refused)
		return nil, err
	case err == nil:
		if status := pg.Last().Status; status < 200 || status > 299 {
			err = fmt.Errorf("it answers with status %d", status)
		}
	}
	if err != nil {
		s.blank(u.String())
		s.tell(top, "", "unreachable-page", acap.Warning, "", "the page is not available: %v: its own statements "+
			"were not checked", err)
		return nil, err
	}
	return pg, s.Own(ctx, u, pg)
}

// refused reports, at the line that decided, why the page was not requested.
func (s *Surface) refused(top *acap.Field, why *acap.Refused) {
	at := why.Decision.Because
	if at == nil || !s.report.has(at.URL) {
		s.blank(top.URL)
		at = top
	}
	s.tell(at, "", "page-not-requested", acap.Notice, "", "%s may not be crawled by %s: it was not requested, and "+
		"its own statements were not checked",
		why.URL, strings.Join(s.site.Sender.Names, ", "))
}

// blank adds the name of a text that was not read to the report.
func (s *Surface) blank(name string) {
	if !s.report.has(name) {
		s.report.Add(Text{Name: name, Kind: PageKind})
	}
}

// Own checks the statements of a page, and the resources that it requires. u is the URL that was
// requested, before redirects.
func (s *Surface) Own(ctx context.Context, u *url.URL, pg *page.Page) error {
	if name := pg.URL().String(); !s.report.has(name) {
		if err := s.statements(ctx, name, pg); err != nil {
			return err
		}
	}
	var lacks lackings
	for i, v := range s.views {
		origin, err := v.policies.Origin(ctx, u)
		if err != nil {
			return err
		}
		sources := terms.Sources{Policies: v.policies, Fetcher: s.site.Fetcher}
		t, err := terms.Reach(ctx, origin.Policy, u, pg, sources, acap.Facts{Now: s.o.Now})
		if err != nil {
			return err
		}
		for _, usage := range acap.Usages() {
			// P1 2.5.6.1 (L02): the link to the place where users can ask for permission is never
			// fetched
			if usage == acap.Other {
				s.usageRefs(t)
				continue
			}
			if l, is := ended(t.Policy().Decide(usage, t.Resource()).At(t.Facts())); is {
				lacks.add(l, usage, false)
			}
			for _, l := range t.Lacks(usage) {
				if i == 0 || !s.ours(ctx, v, l) {
					lacks.add(l, usage, passing(t, l))
				}
			}
			if err := s.links(ctx, t, usage); err != nil {
				return err
			}
		}
		for _, part := range t.Parts() {
			if part.Page != nil {
				s.partMoved(t, part)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, l := range lacks.list {
		s.lacking(l, pg)
	}
	return nil
}

// statements checks the statements of a page, which findings mention under the given name.
func (s *Surface) statements(ctx context.Context, name string, pg *page.Page) error {
	if err := s.readPageLicences(ctx, pg); err != nil {
		return err
	}
	origin, err := s.site.Policies.Origin(ctx, pg.URL())
	if err != nil {
		return err
	}
	robots, refs := origin.Robots, origin.References
	if origin.Key == s.Origin.Key {
		refs = s.references
	}
	if robots == nil {
		robots = acap.Parse(origin.Key+"/robots.txt", nil)
	}
	s.report.Page(name, pg, s.o, robots, refs...)
	s.checkPageLicences(pg)
	s.pageContradictions(pg, robots, refs)
	return nil
}

// ours reports whether a required resource was unavailable only because the crawler that sends the
// requests may not request it, although the crawler of the view v may.
func (s *Surface) ours(ctx context.Context, v view, l terms.Lack) bool {
	refused, is := errors.AsType[*acap.Refused](l.Err)
	if !is {
		return false
	}
	u, err := url.Parse(refused.URL)
	if err != nil {
		return false
	}
	p, err := v.policies.Policy(ctx, u)
	if err != nil || !p.Decide(acap.Crawl, acap.NewResource(u)).Allowed {
		return false
	}
	s.report.note("%s: it was not requested, since %s may not crawl it; %s may", refused.URL,
		strings.Join(s.site.Sender.Names, ", "), strings.Join(v.crawler.Names, ", "))
	return true
}

var (
	errPassed    = errors.New("the time limit has passed")
	errElsewhere = errors.New("the page is not where the permission says")
)

// ended reports whether the page itself limits a usage to a time that has passed, or to another
// address. The linter reports dates in policy files.
func ended(d acap.Decision) (l terms.Lack, is bool) {
	l.Field = d.Because
	switch d.Reason {
	case acap.ByExpiry:
		l.Err = errPassed
	case acap.ByLocation:
		l.Err = errElsewhere
	}
	return l, l.Err != nil && l.Field != nil && l.Field.Source != acap.Robots && l.Field.Source != acap.Referred
}

// usageRefs checks that the page has the parts that say where to ask for permission of other
// usages.
func (s *Surface) usageRefs(t *terms.Reached) {
	for _, r := range t.Policy().Decide(acap.Other, t.Resource()).UsageRefs() {
		if r.Locator == "" {
			continue
		}
		if _, _, found := t.Page().Link(r.Locator); !found {
			s.tell(r.Field, r.Value, "part-not-found", acap.Error, "",
				"%s has no %s: readers cannot learn there where to ask for permission",
				t.Page().URL(), inWords(r.Locator))
		}
	}
}

// links checks whether links that must be shown lead to a page. ACAP does not require that (P1
// 2.5.5.6, X08), but readers expect it.
func (s *Surface) links(ctx context.Context, t *terms.Reached, usage acap.Usage) error {
	d := t.Decide(usage)
	if !d.Allowed {
		return nil
	}
	for _, r := range d.MustInclude() {
		if !r.Link() {
			continue
		}
		address := r.URL
		if r.Locator != "" {
			address, _, _ = t.Page().Link(r.Locator)
		}
		if address == "" {
			continue
		}
		why, known := s.dead[address]
		if !known {
			got, err := s.site.Fetcher.Fetch(ctx, address)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			_, refused := errors.AsType[*acap.Refused](err)
			switch {
			case refused: // this crawler may not request the link, but another one may
			case err != nil:
				why = err.Error()
			case got.Last().Status < 200 || got.Last().Status > 299:
				why = fmt.Sprintf("it answers with status %d", got.Last().Status)
			}
			s.dead[address] = why
		}
		if why != "" {
			s.tell(r.Field, r.Value, "dead-link", acap.Warning, "name an address that exists",
				"the %s must be shown, and leads to %s: %s", r.Role, address, why)
		}
	}
	return nil
}

// partMoved reports that a required resource is at another address.
func (s *Surface) partMoved(t *terms.Reached, part terms.Part) {
	for _, usage := range acap.Usages() {
		d := t.Decide(usage)
		for _, r := range slices.Concat(d.MustUse(), d.MustInclude()) {
			if r.URL == part.URL {
				s.moved(r.Field, r.Value, part.URL, part.Page.URL().String())
			}
		}
	}
}

// lackings collects reasons why usages are not possible, without duplicates.
type lackings struct{ list []lacking }

type lacking struct {
	terms.Lack
	passing bool // the failure may be temporary, so the requirement may be met later
	usages  []acap.Usage
}

// passing reports whether a required resource may be available later.
func passing(t *terms.Reached, l terms.Lack) bool {
	return slices.ContainsFunc(t.Parts(), func(p terms.Part) bool {
		return l.Required != nil &&
			p.URL == l.Required.URL && p.Failed
	})
}

func (ls *lackings) add(l terms.Lack, u acap.Usage, passing bool) {
	for i := range ls.list {
		have := &ls.list[i]
		if have.Field == l.Field && value(have.Required) == value(l.Required) && have.Err.Error() == l.Err.Error() {
			if !slices.Contains(have.usages, u) {
				have.usages = append(have.usages, u)
			}
			return
		}
	}
	ls.list = append(ls.list, lacking{l, passing, []acap.Usage{u}})
}

func value(r *acap.Required) string {
	if r == nil {
		return ""
	}
	return r.Value
}

// lacking reports why usages of the page are not possible.
func (s *Surface) lacking(l lacking, pg *page.Page) {
	names := make([]string, len(l.usages))
	for i, u := range l.usages {
		names[i] = string(u)
	}
	so := fmt.Sprintf("so %s of %s is prohibited", strings.Join(names, ", "), pg.URL())
	switch len(names) {
	case 1:
	case len(acap.Usages()) - 1:
		so = fmt.Sprintf("so nothing may be done with %s", pg.URL())
	default:
		so = fmt.Sprintf("so %s of %s are prohibited", strings.Join(names, ", "), pg.URL())
	}
	_, refused := errors.AsType[*acap.Refused](l.Err)
	switch r := l.Required; {
	case errors.Is(l.Err, errPassed):
		s.tell(l.Field, "time-limit", "expired-permission", acap.Warning,
			"renew the date, or prohibit it in plain words", "%v: %s", l.Err, so)
	case errors.Is(l.Err, errElsewhere):
		s.tell(l.Field, "location", "other-location", acap.Warning, "write the address of the page", "%v: %s", l.Err,
			so)
	case errors.Is(l.Err, terms.ErrTooLong):
		s.tell(l.Field, "max-length", "part-too-long", acap.Error, "permit more, or require a shorter extract",
			"%v: %s", l.Err, so)
	case r == nil:
		s.tell(l.Field, "", "unfulfillable", acap.Error, "", "%v: %s", l.Err, so)
	case errors.Is(l.Err, terms.ErrNoPart):
		s.tell(l.Field, r.Value, "part-not-found", acap.Error, "", "the page has no %s, %s", inWords(r.Locator), so)
	case refused:
		s.tell(l.Field, r.Value, "part-not-crawlable", acap.Error, "let it be crawled, or require something else",
			"%v, %s", l.Err, so)
	case l.passing:
		s.tell(l.Field, r.Value, "part-unavailable", acap.Warning, "",
			"%s is not available now: %v, %s", r.URL, l.Err, so)
	case r.URL != "":
		s.tell(l.Field, r.Value, "part-unavailable", acap.Error, "name an address where it is",
			"%s is not available: %v, %s", r.URL, l.Err, so)
	default:
		s.tell(l.Field, r.Value, "part-unusable", acap.Error, "", "%s: %v, %s", r.Value, l.Err, so)
	}
}

// inWords returns a description of the part that a locator names.
func inWords(locator string) string {
	kind, name, _ := strings.Cut(locator, ":")
	switch kind {
	case "id":
		return fmt.Sprintf("element with the id %q", name)
	case "idlist":
		return fmt.Sprintf("element with one of the ids %q", strings.Split(name, ","))
	case "class":
		return fmt.Sprintf("element of the class %q", name)
	case "classlist":
		return fmt.Sprintf("element of one of the classes %q", strings.Split(name, ","))
	case "meta":
		return fmt.Sprintf("META tag with the name %q", name)
	}
	return fmt.Sprintf("element %q", strings.Split(name, ","))
}
