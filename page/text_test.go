package page

import (
	"reflect"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

const harbourText = "The harbour opens again The harbour opens again After three years of dredging, the first ferry " +
	"left. Crowds cheered. " +
	"Ferries cost twelve crowns. Outer words inner words Ship Berth Alma 4 one two Seen: the ferry Alma and a buoy. " +
	"Not for snippets. mail script archive paid prices nowhere the quay pilot words"

func TestTextOfHarbour(t *testing.T) {
	p := fixture(t, "harbour.html")
	if got := p.Text(Cut{}); got != harbourText {
		t.Errorf("got  %q\nwant %q", got, harbourText)
	}
	if got, want := p.Title(Cut{}), "The harbour opens again"; got != want {
		t.Errorf("title %q", got)
	}
	want := strings.Replace(harbourText, "Ferries cost twelve crowns. ", "", 1)
	if got := p.Text(without("index", true)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want = strings.Replace(harbourText, "Not for snippets. ", "", 1)
	if got := p.Text(Cut{Snippet: true}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := p.Text(without("index", false)); got != "" {
		t.Errorf("prohibited page, text %q", got)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"title in the body comes first once", "<p>one</p><title>two</title>three", "two one three"},
		{"empty", "", ""},
		{"blanks of all kinds", "a\u00a0\u3000b\u2028\tc\r\nd&nbsp;e", "a b c d e"},
		{"no blank inside inline markup", "a<b>b</b><i><u>c</u></i><span>d</span><wbr>e<!-- x -->f<img alt=g>h",
			"abcdefgh"},
		{"blocks", "a<div>b</div>c<p>d<h2>e</h2><hr>f<dl><dt>g<dd>h</dl><pre>i\nj</pre>", "a b c d e f g h i j"},
		{"cells", "<table><caption>a</caption><tr><td>b</td><th>c</th></tr></table>", "a b c"},
		{"hidden blocks do not part words", "a<div hidden>x</div>b<div style='display:none'>y</div>c", "abc"},
		{"a later display counts",
			"<p style='display:none;display:block'>a<p style='display:none !important'>b<p style='display:inline'>c",
			"a c"},
		{"hidden with content shown inside", "<div hidden><p style='display:block'>x</p></div>y", "y"},
		{"drawings", "<svg><title>a</title><text>b</text><style>c</style></svg>", "a b"},
		{"image alternatives",
			"<img alt='a  b' src=x> <img src=y> <area alt=c><input type=IMAGE alt=d><input type=text alt=e>", "a b cd"},
		{"hidden image", "<img alt=a hidden>b", "b"},
		{"markup held as text", "<iframe><p>a</iframe><noembed><p>b</noembed><xmp><c></xmp>", "<c>"},
		{"frames", "<frameset><frame src=x><noframes><p>a</noframes></frameset>", ""},
		{"line ends between ideographs", "東\n京<b>\r\n都</b>\n  <i>市</i>、\nです\n。ー\nア", "東京都市、です。ーア"},
		{"other white space between ideographs", "東 京\u3000\n都<br>\n市\t区<p>町", "東 京 都 市 区 町"},
		{"line ends between other words", "東\nA\n京 한\n국 a\nb", "東 A 京 한 국 a b"},
		{"line ends that are kept", "<pre>東\n京</pre>", "東 京"},
		{"unclosed", "<p>a<b>b<p>c", "ab c"},
		{"entities", "a&amp;b&lt;i&gt; &#8364;", "a&b<i> €"},
	} {
		if got := htmlPage(c.body).Text(Cut{}); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestTextUnderMarks(t *testing.T) {
	for _, c := range []struct {
		name, body string
		page       bool
		want       string
	}{
		{"prohibited element", "a<p class=the-acap:disallow-index>b</p>c", true, "a c"},
		{"inline element", "a<b class=the-acap:disallow-index>b</b>c", true, "ac"},
		{"permitted element of a prohibited page", "a<p class=the-acap:allow-index>b <i>c</i></p>d<img alt=e>", false,
			"b c"},
		{"any prohibition on the way (N06)",
			"<div class=the-acap:allow-index>a<p class=the-acap:disallow-index>b</p>c</div>", false, "a c"},
		{"scope by the parser's tree (N29)", "<p class=the-acap:disallow-index>a<p>b", true, "b"},
		{"title", "<title class=the-acap:disallow-index>a</title><p>b", true, "b"},
		{"body", "<title>a</title><body class=the-acap:disallow-index>b<p>c", true, "a"},
		{"image", "<img alt=a class=the-acap:disallow-index>b", true, "b"},
		{"opened again", "<p><b class=the-acap:disallow-index>a<p>b</b>c", true, "c"},
	} {
		p := htmlPage(c.body)
		if got := p.Text(without("index", c.page)); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestKeepIsAskedPerChain checks that Keep is called for the page and for each marked element, with
// the marks outermost first.
func TestKeepIsAskedPerChain(t *testing.T) {
	p := htmlPage("<html class=acap:h><body class=acap:b><p>1<p>2<div class='x acap:d acap:e'><p>3<p>4<i " +
		"class=acap:i>5</i>6</div><p>7")
	var asked []string
	p.Text(Cut{Keep: func(chain []acap.Mark) bool {
		var names []string
		for _, m := range chain {
			names = append(names, m.Token[len("acap:"):]+string(m.Place))
		}
		asked = append(asked, strings.Join(names, " "))
		return true
	}})
	want := []string{"", "hhead b", "hhead b d e", "hhead b d e i"}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %q", asked)
	}
}
