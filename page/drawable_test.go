package page

import "testing"

func TestDrawable(t *testing.T) {
	const no = `class="the-acap:disallow-present-thumbnail"`
	for _, c := range []struct {
		name, body  string
		whole, part bool // expected results for a complete page, and for an incomplete one
	}{
		{"a page", "<p>a<p " + no + ">b", true, true},
		{"a frame", "<iframe src=/f.html></iframe>", true, true},
		{"a frame with its content", `<iframe srcdoc="<p>a"></iframe>`, false, false},
		{"within noscript", `<noscript><iframe srcdoc="<p>a"></iframe></noscript>`, false, false},
		{"within a shadow", `<p><template shadowrootmode=open><iframe srcdoc></iframe></template>`, false, false},
		{"words about it", `<p>srcdoc <code>&lt;iframe srcdoc></code>`, true, true},
		{"noscript", "<head><noscript><link rel=stylesheet href=/plain.css></noscript></head><p " + no +
			">a<noscript>words &amp; <b>b</b><img src=/i.png></noscript>c", true, true},
		{"noscript with marks", "<p>a<noscript>x <b " + no + ">b &lt;</b></noscript>c", true, true},
		{"noscript that begins an element", "<p>a<noscript><div " + no + "></noscript>b<noscript></div></noscript>c",
			false, false},
		{"noscript that ends one", "<div " + no + ">a<noscript></div></noscript>b</div>", false, false},
		{"noscript that ends the head", "<head><noscript><p>a</noscript></head><body " + no + ">b", false, false},
		{"the same without marks", "<div>a<noscript></div></noscript>b</div>", true, true},
	} {
		p := htmlPage(c.body)
		if whole, part := p.Drawable(true), p.Drawable(false); whole != c.whole || part != c.part {
			t.Errorf("%s: %v, %v", c.name, whole, part)
		}
	}
	p := fetched("application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><body><p `+no+
		`>a</p></body></html>`)
	if !p.Drawable(true) || p.Drawable(false) {
		t.Errorf("XHTML: %v, %v", p.Drawable(true), p.Drawable(false))
	}
}
