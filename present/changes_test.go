package present

import (
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestForgone(t *testing.T) {
	for _, c := range []struct {
		usage acap.Usage
		value string // of prohibited-modification
		want  string
	}{
		{acap.PresentCurrentCopy, "any", "a copy of which something is missing is not shown"},
		{acap.PresentOldCopy, "structure", "a copy of which something is missing is not shown"},
		{acap.PresentCurrentCopy, "style", ""},
		{acap.PresentSnippet, "annotation", "words searched for are not marked"},
		{acap.PresentOldSnippet, "appearance", "words searched for are not marked"},
		{acap.PresentSnippet, "translation", ""},
		{acap.PresentSnippet, "any", ""}, // it is refused
		{acap.PresentLink, "any", ""},
	} {
		s := open(t)
		s.hold("/a", article)
		s.says("ACAP-allow-present: / prohibited-modification=" + c.value)
		d, err := s.Decide(t.Context(), site+"/a", Reader{}, c.usage)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Forgone(d[0]), "; "); got != c.want {
			t.Errorf("%s under %s: %q, want %q", c.usage, c.value, got, c.want)
		}
	}
}
