package rewrite

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// fragments are parts of pages that readers of HTML confuse with each other.
var fragments = []string{
	"<img src=//evil.example>", "<iframe src=//evil.example>", "</iframe>", "<link rel=preconnect href=//evil.example>",
	"<svg>", "</svg>", "<svg/>", "<math>", "</math>", "<g>", "</g>", "<desc>", "</desc>", "<foreignObject>",
	"</foreignObject>", "<mi>", "</mi>", "<annotation-xml encoding=text/html>", "</annotation-xml>", "<mglyph>",
	"<style>", "</style>", "<style/>", "<script>", "</script>", "<script/>", "<title>", "</title>", "<textarea>",
	"</textarea>", "<xmp>", "</xmp>", "<noscript>", "</noscript>", "<noframes>", "</noframes>", "<noembed>",
	"</noembed>", "<plaintext>", "<select>", "</select>", "<option>", "<template>", "</template>", "<col>",
	"<colgroup>", "<table>", "</table>", "<tr>", "<td>", "<caption>", "<frameset>", "</frameset>",
	"<frame src=//evil.example>", "<div>", "</div>", "<p>", "</p>", "<br>", "</br>", "<b>", "</b>", "<span>", "</span>",
	"<font color=red>", "<font>", "<a title='", "<a title=\"", "'>", "\">", "<!--", "-->", "<![CDATA[", "]]>", ">", "<",
	"a", "&lt;", "<head>", "</head>", "<body>", "</body>", "<html>", "</html>", "<input>", "<form>", "</form>", "<hr>",
	"url(//evil.example)", "url&#40;//evil.example)", "a{b:", "}", "<p style='a:", "\\", "/*", "*/", "\"", "@import",
	"<base href=//evil.example>", "<image href=//evil.example>", "<object data=//evil.example>", "</object>",
}

// mixed returns a page of fragments, one for each byte.
func mixed(choice []byte) string {
	var b strings.Builder
	for _, c := range choice {
		b.WriteString(fragments[int(c)%len(fragments)])
	}
	return b.String()
}

// checkMixed checks that nothing of another host is left in a page, and that Foreign finds what
// contacts another host.
func checkMixed(t *testing.T, page string) {
	t.Helper()
	if s := left(t, rewritten(t, page, archive)); s != "" {
		t.Errorf("%s\nbecomes %s\nwhich requests %s", page, rewritten(t, page, archive), s)
	}
	if found, err := Foreign(strings.NewReader(page)); len(found) == 0 && err == nil && contacts(page) != "" {
		t.Errorf("%s\npasses, with %s", page, contacts(page))
	}
}

// TestMixed mixes fragments at random.
func TestMixed(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 89))
	for range 10_000 {
		choice := make([]byte, 2+random.IntN(12))
		for i := range choice {
			choice[i] = byte(random.IntN(256))
		}
		if checkMixed(t, mixed(choice)); t.Failed() {
			return
		}
	}
}

func FuzzMixed(f *testing.F) {
	f.Add([]byte{4, 20, 0, 21})
	f.Fuzz(func(t *testing.T, choice []byte) { checkMixed(t, mixed(choice[:min(len(choice), 50)])) })
}
