package present

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/kept"
	"github.com/acapcrawl/acapcrawl/terms"
)

// formatError formats err: the usage, the reason of the refusal and the deciding line, or "not
// held".
func formatError(t *testing.T, err error) string {
	t.Helper()
	var refused *acap.Refused
	switch {
	case errors.Is(err, ErrNotHeld):
		return "not held"
	case !errors.As(err, &refused):
		t.Fatal(err)
	case refused.Decision.Because != nil:
		return fmt.Sprint(refused.Decision.Usage, " ", refused.Decision.Reason, " ", refused.Decision.Because.Line)
	}
	return fmt.Sprint(refused.Decision.Usage, " ", refused.Decision.Reason)
}

func (s *store) receive(d archive.Deposit) {
	s.Helper()
	d.Fetched = noon
	if d.Header == nil {
		d.Header = http.Header{"Content-Type": {"text/html"}}
	}
	d.Resource.Status, d.Resource.Own.URL = 200, d.Resource.URL
	d.Resource.MIME, _, _ = strings.Cut(d.Header.Get("Content-Type"), ";")
	if _, err := s.archive.Receive(context.Background(), d); err != nil {
		s.Fatal(err)
	}
}

// TestTruncatedCopy checks that an incomplete copy is shown as incomplete, and is refused if the
// policy prohibits modification.
func TestTruncatedCopy(t *testing.T) {
	s := open(t)
	s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/a"}, Body: []byte("<p>The beg"), Truncated: true,
		Header: http.Header{
			"Content-Type": {"text/html"}, "Content-Length": {"4711"}, "Etag": {`"x"`},
			"Content-Digest": {"sha-256=:x:"},
			"Date":           {"today"}}})
	for now, want := range map[string]string{
		"": "",
		"ACAP-allow-present-currentcopy: /\n" +
			"ACAP-allow-present: / prohibited-modification=any": "present-currentcopy prohibition 4",
		"ACAP-allow-present-currentcopy: / " +
			"prohibited-modification=content": "present-currentcopy prohibition 3",
		"ACAP-allow-present-currentcopy: / prohibited-modification=style": "",
		"ACAP-allow-present-currentcopy: / " +
			"required-context=within-original-frame": "present-currentcopy unfulfillable 3",
		"ACAP-allow-present-currentcopy: / " +
			"must-include-resource=the-acap:credit:text:Me%20too": "present-currentcopy fallback 3",
		"ACAP-allow-present: / prohibited-modification=format prohibited-modification=metadata": "",
		"ACAP-allow-present: / prohibited-modification=format " +
			"prohibited-modification=structure\n\n": "present-currentcopy prohibition 3",
	} {
		s.setRobots(now)
		got, err := s.Copy(context.Background(), site+"/a", Which{}, Reader{})
		if err != nil {
			if is := formatError(t, err); is != want {
				t.Errorf("%s: %s (%v), want %q", now, is, err, want)
			}
			continue
		}
		if want != "" || !got.Truncated || got.Cut {
			t.Errorf("%s: %+v, want %q", now, got, want)
		}
		if len(got.Header) != 2 || got.Header.Get("Date") == "" {
			t.Errorf("the header tells of other bytes: %v", got.Header)
		}
	}
}

// TestContextOfParts checks that a context that the policy requires only for one element of a page
// is applied to that element.
func TestContextOfParts(t *testing.T) {
	s := open(t)
	const framed, bare, fixed = `<i class="the-acap:allow-(framed)">a</i>`, `<i class="the-acap:allow-(bare)">b</i>`,
		`<i class="the-acap:allow-(fixed)">c</i>`
	s.policy = acap.Parse(site+"/robots.txt",
		[]byte("ACAP-version: 1.1\nACAP-qualified-usage: framed present-currentcopy "+
			"required-context=within-user-frame\n"+
			"ACAP-qualified-usage: bare present-currentcopy prohibited-context=within-user-frame\n"+
			"ACAP-qualified-usage: fixed present-currentcopy prohibited-modification=any\nACAP-crawler: *\n"+
			"ACAP-allow-present: /home required-context=within-original-frame\n")).Policy(
		acap.Crawler{Names: []string{"gazer"}})
	s.hold("/a", framed+bare+fixed)
	s.hold("/home", fixed)
	for _, c := range []struct {
		path   string
		framed bool
		want   string
	}{{"/a", false, bare + fixed}, {"/a", true, framed + fixed}, {"/home", false, fixed}} {
		got, err := s.Copy(context.Background(), site+c.path, Which{}, Reader{Framed: c.framed})
		if err != nil || string(got.Body) != c.want {
			t.Errorf("%s, framed %v: %s %v, want %s", c.path, c.framed, got.Body, err, c.want)
		}
	}
}

// TestHeaderOfCopy checks that the shown header fields describe the bytes that are shown.
func TestHeaderOfCopy(t *testing.T) {
	s := open(t)
	whole := http.Header{"Content-Type": {"text/html"}, "Content-Length": {"8"}, "Etag": {`"x"`}, "Content-Md5": {"x"},
		"Repr-Digest": {"x"}}
	body := `<p>One <b class="the-acap:disallow-present">two</b>`
	for _, c := range []struct {
		name, body string
		cut        bool
		encoding   string
		want       int // number of header fields that must remain
	}{
		{"whole", "<p>One", false, "", 5},
		{"cut now", body, false, "", 1},
		{"cut when it was kept", "<p>One", true, "", 1},
		{"decoded", "<p>One", false, "br", 1},
	} {
		h := whole.Clone()
		if c.encoding != "" {
			h.Set("Content-Encoding", c.encoding)
		}
		url := site + "/" + strings.ReplaceAll(c.name, " ", "-")
		own := acap.Own{}
		if c.body == body {
			own.Marks = []acap.Mark{{Token: "the-acap:disallow-present"}}
		}
		s.receive(archive.Deposit{Resource: archive.Resource{URL: url, Own: own}, Body: []byte(c.body), Cut: c.cut,
			Header: h})
		got, err := s.Copy(context.Background(), url, Which{}, Reader{})
		if err != nil || len(got.Header) != c.want {
			t.Errorf("%s: %v, %v", c.name, got.Header, err)
		}
	}
}

// TestTakenDownOnTheWay checks a take-down of an address that redirects to a page. The page must be
// hidden for requests for that address, but not for requests for its other addresses (P05, X66).
func TestTakenDownOnTheWay(t *testing.T) {
	s := open(t)
	s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/b"}, Body: []byte("<p>b"),
		Aliases: []string{site + "/moved"}})
	s.setRobots("ACAP-request-take-down: /moved")
	ctx := context.Background()
	_, err := s.Copy(ctx, site+"/moved", Which{}, Reader{})
	if is := formatError(t, err); is != "present-currentcopy prohibition 3" {
		t.Error(is)
	}
	if _, err := s.Snippet(ctx, site+"/moved", "", Which{}, Reader{}); formatError(t,
		err) != "present-snippet prohibition 3" {
		t.Error(err)
	}
	if _, err := s.Original(ctx, site+"/moved", Reader{}); formatError(t, err) != "present-original prohibition 3" {
		t.Error(err)
	}
	if d, err := s.Decide(ctx, site+"/moved", Reader{}, acap.PresentLink); err != nil || d[0].Allowed ||
		d[0].Usage != acap.PresentLink {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := s.Copy(ctx, site+"/b", Which{}, Reader{}); err != nil {
		t.Error(err)
	}
}

// TestRefusedOnTheWay checks that a prohibition for any address of a redirect chain has the same
// effect as one for the first address (X66).
func TestRefusedOnTheWay(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct{ robots, shut, open string }{
		"asked for":    {"ACAP-disallow-present: /a", "a", "b to"},
		"middle":       {"ACAP-disallow-present: /b", "a b", "to"},
		"taken down":   {"ACAP-request-take-down: /b", "a b", "to"},
		"of one form":  {"ACAP-disallow-present-currentcopy: /b", "a b", "to"},
		"of another":   {"ACAP-disallow-present-thumbnail: /b", "", "a b to"},
		"of none":      {"ACAP-disallow-present: /c", "", "a b to"},
		"the page":     {"ACAP-disallow-present: /to", "a b to", ""},
		"what is left": {"ACAP-disallow-present: /\nACAP-allow-present: /a\nACAP-allow-present: /to", "a b", "to"},
	} {
		s := open(t)
		s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/to"}, Body: []byte("<p>b"),
			Aliases: []string{site + "/a", site + "/b"}})
		s.setRobots(c.robots)
		for path := range strings.FieldsSeq(c.shut) {
			if _, err := s.Copy(ctx, site+"/"+path, Which{}, Reader{}); !strings.HasPrefix(formatError(t, err),
				"present-currentcopy prohibition") {
				t.Errorf("%s: /%s: %v", name, path, err)
			}
		}
		for path := range strings.FieldsSeq(c.open) {
			if _, err := s.Copy(ctx, site+"/"+path, Which{}, Reader{}); err != nil {
				t.Errorf("%s: /%s: %v", name, path, err)
			}
		}
	}
}

// TestNotHeldIsNotRefused checks that a request for a page that is not stored returns ErrNotHeld
// and not a refusal, whatever the policy says.
func TestNotHeldIsNotRefused(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	s.hold("/erased", article)
	if _, err := s.archive.Erase(ctx, archive.Tombstone{URL: site + "/erased", Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	s.setRobots("ACAP-disallow-preserve: /bare\nACAP-disallow-present-snippet: /bare")
	s.hold("/bare", article)
	s.setRobots("ACAP-request-take-down: /erased\nACAP-request-take-down: /bare\nACAP-disallow-present: /")
	for _, path := range []string{"/erased", "/bare", "/never"} {
		for _, which := range []Which{{}, {Version: 1}, {At: noon}} {
			_, err := s.Copy(ctx, site+path, which, Reader{})
			if is := formatError(t, err); is != "not held" {
				t.Errorf("a copy of %s, %+v: %s", path, which, is)
			}
			if _, err = s.Snippet(ctx, site+path, "", which, Reader{}); formatError(t, err) != "not held" {
				t.Errorf("a snippet of %s, %+v: %s", path, which, formatError(t, err))
			}
		}
	}
}

func TestPassage(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, then, now, old, body, query string
		which                             Which
		who                               Reader
		// the expected text and the required texts; for an error, "!" and the result of formatError
		want  string
		marks int
	}{
		{name: "of a copy", want: "The pilot waits for the tide. Words by Ada Quill."},
		{name: "words searched for", query: "tide", want: "The pilot waits for the tide. Words by Ada Quill.",
			marks: 1},
		{name: "words that may not be marked", query: "tide",
			now:  "ACAP-allow-present: / prohibited-modification=annotation",
			want: "The pilot waits for the tide. Words by Ada Quill."},
		{name: "nor in another style", query: "tide", now: "ACAP-allow-present: / prohibited-modification=appearance",
			want: "The pilot waits for the tide. Words by Ada Quill."},
		{name: "not to be changed",
			now:  "ACAP-allow-present-snippet: /\nACAP-allow-present: / prohibited-modification=content",
			want: "!present-snippet prohibition 4"},
		{name: "short", now: "ACAP-allow-present-snippet: / max-length=2-words", want: "The pilot…"},
		{name: "of no length (X05)",
			now:  "ACAP-allow-present-snippet: /\nACAP-allow-present-snippet: / max-length=0-words",
			want: "!present-snippet unfulfillable 4"},
		{name: "a required extract that is longer (J04)",
			now: "ACAP-allow-present-snippet: / " +
				"must-include-resource=the-acap:extract:id:by\nACAP-allow-present-snippet: / max-length=2-words",
			want: "!present-snippet unfulfillable 4"},
		{name: "a credit", now: "ACAP-allow-present-snippet: / max-length=2-words " +
			"must-include-resource=the-acap:credit:id:by", want: "The pilot… (credit Words by Ada Quill.)"},
		{name: "a credit that is missing (J12)",
			now:  "ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:id:no",
			want: "!present-snippet unfulfillable 3"},
		{name: "of another text", now: "ACAP-allow-present-snippet: / must-use-resource=the-acap:text:All%20quiet",
			want: "All quiet"},
		{name: "prohibited", now: "ACAP-disallow-present-snippet: /", want: "!present-snippet prohibition 3"},
		{name: "nosnippet", body: `<meta name="robots" content="nosnippet">x`, want: "!present-snippet meta 1"},
		{name: "of a part alone (N05)", now: "ACAP-disallow-present: /",
			body: `<p>Shut <p class="the-acap:allow-present-snippet">Open`, want: "Open"},
		{name: "of a part of what has no snippet (N05)", now: "ACAP-disallow-present-snippet: /",
			body: `<p>Shut <p class="the-acap:allow-present-snippet">Open`, want: "Open"},
		{name: "of a page all of which is shut", body: `<p class="the-acap:disallow-present-snippet">Shut`,
			want: "!present-snippet prohibition 1"},
		{name: "no text", body: `<img src="x">`, want: "!not held"},
		{name: "where index is prohibited (X09)", then: "ACAP-disallow-index: /", now: "ACAP-disallow-index: /",
			want: "The pilot waits for the tide. Words by Ada Quill."},
		{name: "no copy", then: "ACAP-disallow-preserve: /", now: "ACAP-disallow-preserve: /",
			want: "The pilot waits for the tide. Words by Ada Quill."},
		{name: "no copy, a version", then: "ACAP-disallow-preserve: /", which: Which{Version: 1}, want: "!not held"},
		{name: "an old one", old: "<p>So it was.", which: Which{Version: 1}, want: "So it was."},
		{name: "an old one, prohibited", now: "ACAP-disallow-present-oldsnippet: /", old: "<p>So it was.",
			which: Which{Version: 1}, want: "!present-oldsnippet prohibition 3"},
		{name: "an old one, not the current one", now: "ACAP-disallow-present-snippet: /", old: "<p>So it was.",
			which: Which{Version: 1}, want: "So it was."},
		{name: "an old one, short", now: "ACAP-allow-present-oldsnippet: / max-length=4-chars", old: "<p>So it was.",
			which: Which{Version: 1}, want: "So…"},
		{name: "an old one that may be held no more", now: "ACAP-allow-preserve: / time-limit=until-recrawled",
			old: "<p>So it was.", which: Which{Version: 1},
			want: "!preserve expired 3"},
		{name: "a part of an old one", old: `<p>So <b class="the-acap:disallow-present">it</b> was.`,
			which: Which{Version: 1}, want: "So was."},
		{name: "too late", now: "ACAP-allow-present-snippet: / time-limit=1-days",
			who: Reader{AsOf: noon.AddDate(0, 0, 2)}, want: "!present-snippet expired 3"},
		{name: "another country", now: "ACAP-allow-present: / target-condition=permittedcountrylist:BE",
			who:  Reader{Target: acap.Target{Country: "FR"}},
			want: "!present-snippet target 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			s.setRobots(c.then)
			if c.old != "" {
				s.hold("/a", c.old)
			}
			if c.body == "" {
				c.body = article
			}
			s.hold("/a", c.body)
			s.setRobots(c.now)
			got, err := s.Snippet(ctx, site+"/a", c.query, c.which, c.who)
			text := got.Snippet.Text
			for _, in := range got.Snippet.Include {
				text += " (" + in.Role + " " + in.Text + ")"
			}
			if err != nil {
				text = "!" + formatError(t, err)
			}
			if text != c.want || len(got.Snippet.Marks) != c.marks {
				t.Errorf("%q %v, want %q %d (%v)", text, got.Snippet.Marks, c.want, c.marks, err)
			}
			if err == nil && (got.Current != (c.which == Which{}) || got.URL != site+"/a" || got.Fetched != noon) {
				t.Errorf("%+v", got)
			}
			if r, _, _ := s.archive.Resource(site + "/a"); r.FirstPresented.IsZero() != (err != nil) {
				t.Errorf("first presented %v, %v", r.FirstPresented, err)
			}
		})
	}
}

// TestExcerptBeforeOldCopy checks a page whose last response left only an excerpt in the archive.
// The excerpt must be shown, not an older copy.
func TestExcerptBeforeOldCopy(t *testing.T) {
	s := open(t)
	s.hold("/a", "<p>So it was.")
	var k terms.Kept
	k.SetText(acap.PresentSnippet, kept.Text{Text: "So it is."})
	s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/a", Kept: k}})
	got, err := s.Snippet(context.Background(), site+"/a", "", Which{}, Reader{})
	if err != nil || got.Snippet.Text != "So it is." || !got.Current || got.Version != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	cp, err := s.Copy(context.Background(), site+"/a", Which{}, Reader{})
	if err != nil || cp.Current || string(cp.Body) != "<p>So it was." {
		t.Errorf("%+v, %v", cp, err)
	}
}

func TestOriginal(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, now, mime string
		framed          bool
		want            string
	}{
		{name: "led there", want: "led"},
		{name: "framed", framed: true, want: "framed"},
		{name: "prohibited", now: "ACAP-disallow-present-original: /", want: "present-original prohibition 3"},
		{name: "in no frame, led there (K05, X69)",
			now: "ACAP-allow-present-original: / prohibited-context=within-user-frame", want: "led"},
		{name: "in no frame, framed (K05)",
			now:    "ACAP-allow-present-original: /\nACAP-allow-present: / prohibited-context=within-user-frame",
			framed: true,
			want:   "present-original prohibition 4"},
		{name: "in a frame", now: "ACAP-allow-present-original: / required-context=within-user-frame", want: "framed"},
		{name: "as at home, led there", now: "ACAP-allow-present: / required-context=within-original-frame",
			want: "led"},
		{name: "as at home, framed", now: "ACAP-allow-present: / required-context=within-original-frame", framed: true,
			want: "present-original unfulfillable 3"},
		{name: "as at home, a picture", now: "ACAP-allow-present: / required-context=within-original-frame",
			mime: "image/png", want: "present-original unfulfillable 3"},
		{name: "both (K03)",
			now: "ACAP-allow-present: / required-context=within-user-frame\nACAP-allow-present: / " +
				"prohibited-context=within-user-frame",
			want: "present-original prohibition 4"},
		{name: "no modification at all", now: "ACAP-allow-present: / prohibited-modification=any", want: "led"},
		{name: "a substitute (I09)", now: "ACAP-allow-present: / must-use-resource=the-acap:text:x",
			want: "present-original prohibition 3"},
		{name: "a credit", now: "ACAP-allow-present: / must-include-resource=the-acap:credit:text:Ada",
			want: "led credit Ada"},
		{name: "taken down", now: "ACAP-request-take-down: /a", want: "present-original prohibition 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			if c.mime == "" {
				c.mime = "text/html"
			}
			s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/a"},
				Header: http.Header{"Content-Type": {c.mime}}, Aliases: []string{site + "/old"}})
			s.setRobots(c.now)
			lead, err := s.Original(ctx, site+"/old", Reader{Framed: c.framed})
			got := map[bool]string{true: "framed", false: "led"}[lead.Framed]
			for _, in := range lead.Include {
				got += " " + in.Role + " " + in.Text
			}
			if err != nil {
				got = formatError(t, err)
			} else if lead.URL != site+"/a" {
				t.Errorf("%+v", lead)
			}
			if got != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
			if r, _, _ := s.archive.Resource(site + "/a"); r.FirstPresented.IsZero() != (err != nil) {
				t.Errorf("first presented %v, %v", r.FirstPresented, err)
			}
		})
	}
	s := open(t)
	if _, err := s.Original(ctx, site+"/never", Reader{}); formatError(t, err) != "not held" {
		t.Error(err)
	}
	s.hold("/gone", article)
	if _, err := s.archive.Erase(ctx, archive.Tombstone{URL: site + "/gone", Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Original(ctx, site+"/gone", Reader{}); formatError(t, err) != "not held" {
		t.Error("what the page says of itself is not known:", err)
	}
}
