package page

import "testing"

func TestAppearsEmpty(t *testing.T) {
	noscript := `<noscript>Turn scripts on</noscript>`
	for text, want := range map[string]bool{
		`<title>App</title><div id=root></div><script src=app.js></script>`:                       true,
		`<title>App</title><script type=module src=app.js></script><div id=app></div>` + noscript: true,
		`<div> </div><style>p{}</style><template><p>later</template><script>draw()</script>`:      true,
		`<title>News</title><p>The ferry<script>count()</script>`:                                 false,
		`<title>Nothing</title>`: false,
		`<title>Data</title><script type="application/ld+json">{}</script>`: false,
		`<title>Picture</title><img src=a.png><script>count()</script>`:     false,
		``: false,
	} {
		if got := htmlPage(text).AppearsEmpty(); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
