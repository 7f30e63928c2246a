package page

import "testing"

func TestImage(t *testing.T) {
	p := htmlPage(`<base href="/dir/"><img id=a class=x src="a.png#top">` +
		`<p id=b>Text <b><img src=" //other.example/b.jpg "><img src=c.jpg></b></p>
<p id=c>no image</p><img id=d src="data:image/png;base64,AA=="><img id=e>` +
		`<div class="the-acap:disallow-present"><img class=x id=f src=f.png></div>`)
	for _, c := range []struct {
		locator string
		cut     Cut
		want    string
	}{
		{"id:a", Cut{}, "http://www.example.org/dir/a.png"},
		{"id:b", Cut{}, "http://other.example/b.jpg"},
		{"taglist:IMG", Cut{}, "http://www.example.org/dir/a.png"},
		{"class:x", without("present", true), "http://www.example.org/dir/a.png"},
		{"id:f", Cut{}, "http://www.example.org/dir/f.png"},
		{"id:f", without("present", true), ""},
		{"id:c", Cut{}, ""},
		{"id:d", Cut{}, ""},
		{"id:e", Cut{}, ""},
		{"id:nope", Cut{}, ""},
	} {
		if got := p.Image(c.locator, c.cut); got != c.want {
			t.Errorf("%s: %q, want %q", c.locator, got, c.want)
		}
	}
}
