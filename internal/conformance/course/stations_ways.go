package course

// wayStations test whether the crawler checks robots.txt for every source of an address, not only
// for links of pages.
func wayStations() []*Station {
	way := func(id, says string, pages map[string]content) *Station {
		return &Station{ID: id, Origin: "ways", Category: catWays, Protocol: REP, Level: Must, Rests: "RFC 9309 2.2.2",
			Says: says, pages: pages,
			Because: "Disallow: /" + id + "/closed/", Traps: []string{"/" + id + "/closed/trap.html"},
			Controls: []string{"/" + id + "/open.html"}}
	}
	// pair makes two copies of a page, because the page can name only one address. One copy names
	// the trap, which must not be requested; the other names the control, which may be requested.
	pair := func(id, says string, page func(to string) content) *Station {
		trap, open := "/"+id+"/to-closed.html", "/"+id+"/to-open.html"
		s := way(id, says, map[string]content{"/" + id + "/": {body: anchor(trap) + anchor(open)}})
		s.pages[trap], s.pages[open] = page(s.Traps[0]), page(s.Controls[0])
		s.Bait = trap
		return s
	}
	embedded := func(id, says, markup, name string) *Station {
		trap, open := "/"+id+"/closed/trap"+name, "/"+id+"/open"+name
		s := way(id, says, map[string]content{"/" + id + "/": {body: element(markup, trap) + element(markup, open)}})
		s.Traps, s.Controls = []string{trap}, []string{open}
		return s
	}
	redirect := pair("redirect", "the target of a redirect is not requested if it is prohibited, whatever the status",
		func(to string) content { return content{to: to} })
	redirect.pages["/redirect/"] = content{body: anchor("/redirect/to-closed.html") + anchor("/redirect/301") +
		anchor("/redirect/303") + anchor("/redirect/307") + anchor("/redirect/308") + anchor("/redirect/to-open.html")}
	for path, status := range map[string]int{"/redirect/301": 301, "/redirect/303": 303, "/redirect/307": 307,
		"/redirect/308": 308} {
		trap := "/redirect/closed/" + path[len("/redirect/"):] + ".html"
		redirect.pages[path] = content{to: trap, status: status}
		redirect.Traps = append(redirect.Traps, trap)
	}
	chain := pair("redirect-chain", "the target of a redirect chain is not requested if it is prohibited",
		func(to string) content { return content{to: "/redirect-chain/on?" + to} })
	chain.pages["/redirect-chain/on?"+chain.Traps[0]] = content{to: chain.Traps[0]}
	chain.pages["/redirect-chain/on?"+chain.Controls[0]] = content{to: chain.Controls[0]}
	away := pair("redirect-away",
		"the target of a redirect to another origin is not requested if that origin's robots.txt prohibits it",
		func(to string) content { return content{to: "{{elsewhere}}" + to} })
	away.Traps = []string{"{{elsewhere}}/redirect-away/closed/trap.html"}
	away.Controls = []string{"{{elsewhere}}/redirect-away/open.html"}
	away.pages["/redirect-away/to-closed.html"] = content{to: away.Traps[0]}
	away.pages["/redirect-away/to-open.html"] = content{to: away.Controls[0]}
	sitemap := way("sitemap", "an entry of a sitemap is not requested if it is prohibited", nil)
	sitemap.Bait = "/sitemap.xml"
	sitemap.pages = map[string]content{
		"/sitemap/": {body: "<p>The links of this station are in the sitemap that robots.txt names.</p>"},
		"/sitemap.xml": {header: [][2]string{{"Content-Type", "application/xml"}},
			raw: `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>{{ways}}/sitemap/closed/trap.html</loc></url>
<url><loc>{{ways}}/sitemap/open.html</loc></url>
</urlset>
`}}
	feed := way("feed", "an item of a feed is not requested if it is prohibited", nil)
	feed.Bait = "/feed/news.rss"
	feed.pages = map[string]content{
		"/feed/": {head: `<link rel="alternate" type="application/rss+xml" href="/feed/news.rss">`,
			body: anchor("/feed/news.rss")},
		"/feed/news.rss": {header: [][2]string{{"Content-Type", "application/rss+xml"}},
			raw: `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>News</title><link>{{ways}}/feed/</link>
<item><title>One</title><link>{{ways}}/feed/closed/trap.html</link></item>
<item><title>Two</title><link>{{ways}}/feed/open.html</link></item>
</channel></rss>
`}}
	return []*Station{redirect, chain, away,
		pair("refresh", "the target of a META refresh is not requested if it is prohibited", func(to string) content {
			return content{head: `<meta http-equiv="refresh" content="0; url=` + to + `">`,
				body: "<p>This page redirects to another page.</p>"}
		}),
		pair("canonical", "the canonical address of a page is not requested if it is prohibited",
			func(to string) content {
				return content{head: `<link rel="canonical" href="` + to + `">`,
					body: "<p>This page has another address.</p>"}
			}),
		pair("next", "the target of rel=next is not requested if it is prohibited", func(to string) content {
			return content{head: `<link rel="next" href="` + to + `">`, body: "<p>This page has another after it.</p>"}
		}),
		pair("link-header", "an address in a Link header is not requested if it is prohibited",
			func(to string) content {
				return content{header: [][2]string{{"Link", "<" + to + `>; rel="next"`}},
					body: "<p>The Link header of this page names the next page.</p>"}
			}),
		sitemap, feed,
		embedded("area", "the target of an image map is not requested if it is prohibited",
			`<map name="m"><area shape="default" href="%s" alt="area"></map>`, ".html"),
		embedded("frame", "a page in a frame is not requested if it is prohibited", `<iframe src="%s"></iframe>`,
			".html"),
		embedded("image", "an image of a page is not requested if it is prohibited", `<img src="%s" alt="a picture">`,
			".png"),
		embedded("style", "a style sheet of a page is not requested if it is prohibited",
			`<link rel="stylesheet" href="%s">`, ".css"),
		embedded("script", "a script of a page is not requested if it is prohibited", `<script src="%s"></script>`,
			".js"),
	}
}
