package acap

import "testing"

// TestAgentName tests that a version after a product token is a notice, and that a name that no
// crawler has, or a list of names, is a warning.
func TestAgentName(t *testing.T) {
	for value, want := range map[string]Severity{
		"TurnitinBot":     "",
		"*":               "",
		"TurnitinBot/1.5": Notice,
		"msnbot-media/1.1 (+http://search.msn.com/msnbot.htm)": Notice,
		"Web Image Collector":          Notice,
		"Cutbot;+1.5":                  Notice,
		"HTTrack [NC,OR]":              Notice,
		"Bot mailto:craft@example.com": Notice,
		"CFNetwork*":                   Notice,
		"abot, bbot":                   Warning,
		"*abot*":                       Warning,
		"* Disallow: /":                Warning,
		"*\xa0":                        Warning,
		"+abot":                        Warning,
		`"abot"`:                       Warning,
		"Mozilla/5.0 (compatible; bingbot/2.0; +)": Warning,
	} {
		var got Severity
		if f := found("User-agent: "+value+"\nDisallow: /\n", "agent-name"); len(f) > 0 {
			got = f[0].Severity
		}
		if got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// TestRuleWithoutSlashHint tests that the hint contains the intended path, and the host to whose
// robots.txt the rule belongs.
func TestRuleWithoutSlashHint(t *testing.T) {
	const alone = ": rules apply to only one host"
	for value, want := range map[string]string{
		"private/":                         "write /private/",
		"error.cfm":                        "write /error.cfm",
		"http://host.example/private/":     "write /private/",
		"https://www.host.example/private": "write /private",
		"http://Host.Example":              "write /",
		"www.host.example/private/":        "write /private/",
		"https://other.example/private/":   "write /private/ in the robots.txt of other.example" + alone,
		"a.b.other.example/x":              "write /x in the robots.txt of a.b.other.example" + alone,
		"preview.other.com":                "write / in the robots.txt of preview.other.com" + alone,
		"192.0.2.1/":                       "write / in the robots.txt of 192.0.2.1" + alone,
		"a.b.other.com*":                   "write /* in the robots.txt of a.b.other.com" + alone,
		"([0-9]+)/x": "begin the rule with /, and write no regular expression: a rule has only " +
			"* and $",
		"?xml=":                          "write /*?xml=",
		".pdf$":                          "write /*.pdf$",
		"sort=asc":                       "write /*sort=asc",
		"All":                            "write / for all paths",
		"Sitemap: http://host.example/s": "write every field on a line of its own",
	} {
		f := found("User-agent: *\nDisallow: "+value+"\n", "rule-without-slash")
		if len(f) != 1 || f[0].Hint != want {
			t.Errorf("%q: %+v, want the hint %q", value, f, want)
		}
	}
	unknown := Parse("robots.txt", []byte("User-agent: *\nDisallow: http://host.example/private/\n")).Findings
	if len(unknown) != 1 ||
		unknown[0].Hint != "write /private/ in the robots.txt of host.example"+alone {
		t.Errorf("a file of an unknown site: %+v", unknown)
	}
}

// TestRelativeSitemap tests that a Sitemap line without an absolute URL is reported.
func TestRelativeSitemap(t *testing.T) {
	for value, want := range map[string]string{
		"http://host.example/sitemap.xml": "",
		"HTTPS://other.example/s.xml":     "",
		"/sitemap.xml":                    "write http://host.example/sitemap.xml",
		"sitemap.xml":                     "write http://host.example/sitemap.xml",
		"//host.example/sitemap.xml":      "write https://host.example/sitemap.xml",
		"www.host.example/sitemap.xml":    "write https://www.host.example/sitemap.xml",
		"https:///sitemap.xml":            "write http://host.example/sitemap.xml",
	} {
		f := found("Sitemap: "+value+"\n", "relative-sitemap")
		if got := len(f) > 0; got != (want != "") || got && f[0].Hint != want {
			t.Errorf("%q: %+v, want the hint %q", value, f, want)
		}
	}
}

// TestPatternHint tests that the hint for an ACAP pattern with a host contains its path, in only
// one finding.
func TestPatternHint(t *testing.T) {
	for value, want := range map[string]string{
		"http://host.example/private/": "write only the path: /private/",
		"www.host.example/private/":    "write /private/",
		"private/":                     "write /private/",
	} {
		f := Parse("http://host.example/robots.txt", []byte("ACAP-crawler: *\nACAP-disallow-crawl: "+value+"\n"))
		all := f.Policy(Crawler{}).Findings()
		if len(all) != 1 || all[0].Hint != want {
			t.Errorf("%q: %+v, want the hint %q alone", value, all, want)
		}
	}
}
