package present

import (
	"net/http"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

func TestForgone(t *testing.T) {
	for _, c := range []struct {
		usage acap.Usage
		value string // the value of the qualifier prohibited-modification
		want  string
	}{
		{acap.PresentCurrentCopy, "any", "an incomplete copy is not shown"},
		{acap.PresentOldCopy, "structure", "an incomplete copy is not shown"},
		{acap.PresentCurrentCopy, "style", ""},
		{acap.PresentSnippet, "annotation", "words searched for are not marked"},
		{acap.PresentOldSnippet, "appearance", "words searched for are not marked"},
		{acap.PresentSnippet, "translation", ""},
		{acap.PresentSnippet, "any", ""}, // the whole presentation is refused
		{acap.PresentLink, "any", ""},
	} {
		s := open(t)
		s.hold("/a", article)
		s.setRobots("ACAP-allow-present: / prohibited-modification=" + c.value)
		d, err := s.Decide(t.Context(), site+"/a", Reader{}, c.usage)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Forgone(d[0]), "; "); got != c.want {
			t.Errorf("%s under %s: %q, want %q", c.usage, c.value, got, c.want)
		}
	}
}

// TestCopiesUnderLimits combines the values of prohibited-modification with all ways in which a
// copy can be incomplete. It also tests required and prohibited contexts.
func TestCopiesUnderLimits(t *testing.T) {
	s := open(t)
	hidden := acap.Own{Marks: []acap.Mark{{Token: "the-acap:disallow-present"}}}
	for path, d := range map[string]archive.Deposit{
		"/whole": {Body: []byte("<p>a")}, "/kept": {Body: []byte("<p>a"), Cut: true},
		"/long": {Body: []byte("<p>a"), Truncated: true},
		"/now": {Body: []byte(`<p>a<b class="the-acap:disallow-present">b</b>`),
			Resource: archive.Resource{Own: hidden}},
		"/text": {Body: []byte("a"), Header: http.Header{"Content-Type": {"text/plain"}}},
	} {
		d.Resource.URL = site + path
		for range 2 {
			s.receive(d)
		}
	}
	ways := func(qualifiers string, framed bool) (shown string) {
		s.setRobots("ACAP-allow-present: / " + qualifiers)
		for _, path := range []string{"/whole", "/kept", "/now", "/long", "/text"} {
			var both []error
			for version := range 2 {
				_, err := s.Copy(t.Context(), site+path, Which{Version: version}, Reader{Framed: framed})
				both = append(both, err)
			}
			if (both[0] == nil) != (both[1] == nil) {
				t.Errorf("%s of %s: the current one %v, the old one %v", qualifiers, path, both[0], both[1])
			}
			if both[0] == nil {
				shown += path
			} else if is := formatError(t, both[0]); !strings.HasSuffix(is, " 3") {
				t.Errorf("%s of %s: %s", qualifiers, path, is)
			}
		}
		return shown
	}
	const all = "/whole/kept/now/long/text"
	// paths of the copies that must be shown: first without a frame, then in a frame
	for qualifiers, want := range map[string][2]string{
		"":                                       {all, all},
		"prohibited-modification=any":            {"/whole/text", "/whole/text"},
		"prohibited-modification=content":        {"/whole/text", "/whole/text"},
		"prohibited-modification=structure":      {"/whole/text", "/whole/text"},
		"prohibited-modification=style":          {all, all},
		"prohibited-modification=appearance":     {all, all},
		"prohibited-modification=format":         {all, all},
		"prohibited-modification=translation":    {all, all},
		"prohibited-modification=annotation":     {all, all},
		"prohibited-modification=metadata":       {all, all},
		"prohibited-context=within-user-frame":   {all, ""},
		"required-context=within-user-frame":     {"", all},
		"required-context=within-original-frame": {"/whole", ""},
		"required-context=within-original-frame prohibited-context=within-user-frame": {"/whole", ""},
		"required-context=within-user-frame prohibited-context=within-user-frame":     {"", ""},
		"required-context=within-user-frame prohibited-modification=structure":        {"", "/whole/text"},
		// a policy with this combination of fields cannot be interpreted
		"prohibited-modification=style prohibited-modification=structure prohibited-context=any": {"", ""},
	} {
		if got := [2]string{ways(qualifiers, false), ways(qualifiers, true)}; got != want {
			t.Errorf("%s: %q, want %q", qualifiers, got, want)
		}
	}
}
