package page

import (
	"net/http"
	"slices"
	"testing"
)

func TestNoFollow(t *testing.T) {
	p := New([]Hop{{URL: "http://a.example/b/", Status: 200, Header: http.Header{"Content-Type": {"text/html"}},
		Body: []byte(`<a href=c rel="x NoFollow"><a href=d>` +
			`<a href=c rel=nofollow><area href=/e rel=nofollow><p rel=nofollow>`)}})
	links, all := p.NoFollow()
	if !all || !slices.Equal(links, []string{"http://a.example/b/c", "http://a.example/e"}) {
		t.Error(links, all)
	}
	if links, all := New(nil).NoFollow(); !all || links != nil {
		t.Error(links, all)
	}
}
