package preference

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// licenceCodes returns the codes of the findings about a licence document.
func licenceCodes(t testing.TB, text string, naming Naming) (list []string) {
	t.Helper()
	for _, f := range CheckLicence(LicenceText{Name: home + "/l.xml", Text: []byte(text), Line: 1, Column: 1,
		Naming: naming, Root: &url.URL{Scheme: "https", Host: "example.com", Path: "/"}}, everyOne(t)) {
		list = append(list, f.Code)
	}
	return list
}

func rslText(inside string) string { return "<rsl xmlns=\"" + rslSpace + "\">" + inside + "</rsl>" }

// Each fault of a licence document has its code, and a document without it has not.
func TestCheckLicence(t *testing.T) {
	offer := func(terms string) string {
		return rslText("<content url=\"/\"><license>" + terms + "</license></content>")
	}
	of := func(attributes string) string { return rslText("<content " + attributes + "><license/></content>") }
	for code, c := range map[string]struct{ wrong, right string }{
		"malformed-licence":   {"<rsl", offer("")},
		"malformed-licence ":  {"<!DOCTYPE a>" + offer(""), "<?xml version=\"1.0\"?>" + offer("")},
		"malformed-licence  ": {offer("") + "<a/>", offer("") + "<!-- -->"},
		"wrong-namespace":     {"<rsl><content url=\"/\"><license/></content></rsl>", offer("")},
		"unknown-element":     {offer("<permit/>"), offer("<x:permit xmlns:x=\"x\"/>")},
		"missing-element":     {rslText("<content url=\"/\"/>"), offer("")},
		"missing-element ":    {rslText(""), offer("")},
		"missing-attribute":   {of(""), of(`url="/"`)},
		"unknown-type":        {offer(`<permits>all</permits>`), offer(`<permits type="usage">all</permits>`)},
		"repeated-element":    {offer(strings.Repeat(`<permits type="usage">all</permits>`, 2)), offer("")},
		"unknown-token": {offer(`<permits type="geo">fr</permits>`),
			offer(`<permits type="geo">FR EU</permits>`)},
		"unknown-token ": {offer(`<permits type="usage">train</permits>`),
			offer(`<permits type="usage">ai-all</permits>`)},
		"other-vocabulary": {offer(`<permits type="usage">train-ai</permits>`),
			offer(`<permits type="usage">ai-train</permits>`)},
		"unknown-payment":    {offer(`<payment/>`), offer(`<payment type="free"/>`)},
		"unknown-payment ":   {offer(`<payment type="inference"/>`), offer(`<payment type="use"/>`)},
		"empty-url":          {of(`url=""`), of(`url="/"`)},
		"foreign-url":        {of(`url="https://other.example/"`), of(`url="https://example.com/a"`)},
		"foreign-url ":       {of(`url="//example.com/"`), of(`url="*"`)},
		"rule-without-slash": {of(`url="news/"`), of(`url="/news/"`)},
		"comma-separated": {offer(`<permits type="usage">search, ai-train</permits>`),
			offer(`<permits type="usage">search ai-train</permits>`)},
		"empty-terms": {offer(`<permits type="usage"> </permits>`),
			offer(`<permits type="usage">all</permits>`)},
		"malformed-term": {of(`url="/" server="licences.example"`),
			of(`url="/" server="https://licences.example/"`)},
		"malformed-term ":  {of(`url="/" encrypted="yes"`), of(`url="/" encrypted="true"`)},
		"malformed-term  ": {of(`url="/" lastmod="yesterday"`), of(`url="/" lastmod="2026-01-31"`)},
		"malformed-term   ": {offer(`<payment type="use"><amount currency="eur">1</amount></payment>`),
			offer(`<payment type="use"><amount currency="EUR">1</amount></payment>`)},
		"malformed-term    ": {offer(`<payment type="use"><standard>here</standard></payment>`),
			offer(`<payment type="use"><standard>https://a.example/</standard></payment>`)},
		"contradictory-preference": {
			offer(`<permits type="usage">ai-train search</permits><prohibits type="usage">all</prohibits>`),
			offer(`<permits type="usage">all</permits><prohibits type="usage">ai-train</prohibits>`)},
		"contradictory-preference ": {
			rslText(`<content url="/"><license><permits type="usage">ai-train</permits></license>` +
				`<license><prohibits type="usage">ai-train</prohibits></license></content>`),
			rslText(`<content url="/"><license><permits type="usage">ai-train</permits></license>` +
				`<license><prohibits type="usage">ai-all</prohibits></license></content>`)},
	} {
		code = strings.TrimSpace(code)
		if got := licenceCodes(t, c.wrong, BySite); !slices.Equal(slices.Compact(got), []string{code}) {
			t.Errorf("%s: found %q", c.wrong, got)
		}
		if got := licenceCodes(t, c.right, BySite); got != nil {
			t.Errorf("%s: found %q", c.right, got)
		}
	}
	two := rslText(strings.Repeat("<content url=\"\"><license/></content>", 2))
	if got := licenceCodes(t, two, InPage); !slices.Equal(got, []string{"several-contents"}) {
		t.Errorf("two contents in a page: found %q", got)
	}
	if got := licenceCodes(t, two, ByPage); got != nil {
		t.Errorf("two contents of a document that a page names: found %q", got)
	}
}

// conforms checks that the findings about a document include an error exactly if a crawler cannot
// read the document, and that their places are in the text.
func conforms(t *testing.T, text []byte) {
	t.Helper()
	_, err := readDocument("l.xml", 1, text)
	found := CheckLicence(LicenceText{Name: "l.xml", Text: text, Line: 1, Column: 1, Naming: ByPage}, everyOne(t))
	faulty := slices.ContainsFunc(found, func(f acap.Finding) bool { return f.Severity == acap.Error })
	if faulty != (err != nil) {
		t.Errorf("%q: reading fails with %v, the findings are %v", text, err, found)
	}
	placed(t, text, found)
}

// placed checks that findings have places in a text.
func placed(t *testing.T, text []byte, found []acap.Finding) {
	t.Helper()
	whole := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(text), "\ufeff"))
	lines := strings.Split(whole, "\n")
	for _, f := range found {
		if f.Line < 1 || f.Line > len(lines) || f.Column < 1 || f.Column > len([]rune(lines[f.Line-1]))+1 ||
			f.Length < 1 || f.Message == "" {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

// FuzzCheckLicence compares the check of a document with its reader.
func FuzzCheckLicence(f *testing.F) {
	for _, inside := range []string{"", "<permits type=\"usage\">all, <rsl/> ai-train</permits>",
		"<payment><standard>x<a xmlns='b'>" +
			"</a></standard></payment>", "<permits type=\"geo\"/><permits type=\"geo\">fr</permits>",
		"<legal/><reporting type=\"x\"/>",
		"<prohibits type=\"usage\"><![CDATA[search]]>&#97;ll</prohibits>", "<!DOCTYPE a>"} {
		f.Add([]byte(rslText("<content url=\"a\" server=\"b\">\r\n<license>" + inside +
			"</license></content>\r<content/>")))
		f.Add([]byte("\ufeff" + rslText("<content url=\"\"><license>"+inside+"</license></content>") + "<!-- é -->"))
	}
	f.Fuzz(func(t *testing.T, text []byte) { conforms(t, text) })
}

// FuzzCheckTDMRep checks that the places of findings about a tdmrep.json are in the text, and that
// locations are those that a crawler reads.
func FuzzCheckTDMRep(f *testing.F) {
	for _, seed := range []string{`[{"location": "/", "tdm-reservation": "1"}]`,
		"\ufeff[\r\n{\"location\": \"é\",\r\"x\": 1}, 7]",
		`[{"location": "a", "tdm-reservation": 0, "tdm-policy": "/p"}, {"tdm-policy": 1}]`, "[1,\n2", "{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		locations, found := CheckTDMRep("t.json", text, everyOne(t))
		patterns, _ := newTDMReader("t.json", text, func(*acap.Field, string, acap.Severity, string, string) {}).read()
		if len(locations) != len(patterns) {
			t.Errorf("%q: %d locations, want %q", text, len(locations), patterns)
		}
		placed(t, text, found)
	})
}

// robotsCodes returns the codes of the findings about a robots.txt.
func robotsCodes(t testing.TB, text string) (list []string) {
	t.Helper()
	f := acap.Parse(home+"/robots.txt", []byte(text))
	for _, f := range CheckRobots(f, f.Root(), everyOne(t)) {
		list = append(list, f.Code)
	}
	return list
}

// Findings that compare lines concern the lines for the same crawlers only.
func TestCheckRobots(t *testing.T) {
	const any, bot = "User-agent: *\n", "User-agent: bot\n"
	const licence = "License: " + home + "/l.xml\n"
	for name, c := range map[string]struct {
		robots string
		want   []string
	}{
		"repeated": {any + "Content-Usage: train-ai=n\nContent-Usage: train-ai=n",
			[]string{"repeated-preference"}},
		"contradictory": {any + "Content-Usage: train-ai=n\nContent-Usage: train-ai=y",
			[]string{"contradictory-preference"}},
		"another path":  {any + "Content-Usage: train-ai=n\nContent-Usage: /a train-ai=y", nil},
		"another group": {any + "Content-Usage: train-ai=n\n" + bot + "Content-Usage: train-ai=y", nil},
		"merged groups": {any + "Content-Signal: search=yes\n" + bot + "Content-Signal: search=yes\n" + any +
			"Content-Signal: search=no", []string{"contradictory-preference"}},
		"in one line":       {any + "Content-Signal: search=yes, search=no", []string{"contradictory-preference"}},
		"in one dictionary": {any + "Content-Usage: search=n, search=y", []string{"contradictory-preference"}},
		"use": {any + "Content-Signal: use=full\nContent-Signal: use=reference",
			[]string{"contradictory-preference"}},
		"two licences": {any + licence + licence, []string{"repeated-preference"}},
		"lacking": {any + "Content-Usage: train-ai=n\n" + bot + "Disallow: /a",
			[]string{"missing-preference"}},
		"lacking nothing": {any + "Content-Usage: train-ai=n\n" + bot + "Content-Usage: search=n", nil},
		"shut out":        {any + "Content-Usage: train-ai=n\n" + bot + "Disallow: /", nil},
		"not shut out": {any + "Content-Usage: train-ai=n\n" + bot + "Disallow: /\nAllow: /a",
			[]string{"missing-preference"}},
		"a general licence":  {licence + any + licence + bot + "Disallow: /a", nil},
		"no general licence": {any + licence + bot + "Disallow: /a", []string{"missing-preference"}},
		"a licence for one":  {bot + licence, []string{"licence-in-group"}},
		"address":            {"License: /l.xml\n" + any, []string{"licence-address"}},
		"http":               {"License: http://example.com/l.xml\n" + any, []string{"licence-address"}},
		"a parameter":        {any + "Content-Usage: train-ai=n; search=n", []string{"label-as-parameter"}},
		"another parameter":  {any + "Content-Usage: train-ai=n; q=1", nil},
		"capitals":           {any + "Content-Signal: AI-Train=No", []string{"letter-case"}},
		"nothing": {any + "Content-Usage:\nContent-Signal: ,",
			[]string{"empty-preference", "empty-preference"}},
		"a path alone": {any + "Content-Usage: /press/", nil},
		"quoted commas": {any + `Content-Usage: a="x\", train-ai=n", train-ai=y, b=%"\", train-ai=n`,
			[]string{"unknown-label", "contradictory-preference", "unknown-label"}},
		"before and a licence": {"Content-Signal: search=no\n" + licence + any, []string{"orphan-field"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := robotsCodes(t, c.robots)
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// Only the vocabularies in force have findings.
func TestCheckInForce(t *testing.T) {
	const robots = "License: /l\nUser-agent: *\nContent-Usage: x=n\nContent-Signal: y=no\n"
	for names, want := range map[string]int{"": 0, "aipref": 1, "content-signal": 1, "rsl": 1, "noai": 0,
		"aipref content-signal rsl": 3} {
		list, err := Vocabularies(strings.Fields(names), Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if got := CheckRobots(acap.Parse(home+"/robots.txt", []byte(robots)), nil, list); len(got) != want {
			t.Errorf("%q: %v", names, got)
		}
		_, found := CheckTDMRep("t", []byte("x"), list)
		if found = append(found, CheckLicence(LicenceText{Text: []byte("x")}, list)...); len(found) > want {
			t.Errorf("%q: %v", names, found)
		}
	}
}

// Corrected corrects only what leaves no doubt.
func TestCorrected(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"Content-Usage", "Train-AI=N", "train-ai=n"},
		{"content-usage", "train-ai=n,", "train-ai=n"},
		{"Content-Usage", "train-ai = n search=\"y\"", "train-ai=n, search=y"},
		{"Content-Usage", "search=no; train-ai=n", "search=n, train-ai=n"},
		{"Content-Usage", "train-ai=n", ""},
		{"Content-Usage", "train-ai=?0", ""},
		{"Content-Usage", "ai-train=n", ""},
		{"Content-Usage", "train-ai=n, train-ai=y,", ""},
		{"Content-Usage", "news/ train-ai=n", ""},
		{"Content-Usage", "train-ai", ""},
		{"Content-Usage", "", ""},
		{"Content-Signal", "search=y", "search=yes"},
		{"Content-Signals", "Search=Yes ai-train=NO", "search=yes, ai-train=no"},
		{"Content-Signal", "use=Full", "use=full"},
		{"Content-Signal", "use=no", ""},
		{"License", "search=y", ""},
	} {
		if got, ok := Corrected(c.name, c.value); got != c.want && ok || ok != (c.want != "") {
			t.Errorf("%s: %s: %q, %t; want %q", c.name, c.value, got, ok, c.want)
		}
	}
}

// Hostile files are checked in a time that is not quadratic in their size: a check that compared
// each line with each other line would take hours.
func TestCheckHostile(t *testing.T) {
	content := "<content url=\"/\"><license/></content>"
	lines := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for name, robots := range map[string]string{
		"lines": "User-agent: *\n" + strings.Repeat("Content-Usage: /a train-ai=y\n", 10_000),
		"keys":  "User-agent: *\nContent-Usage: " + keys(40_000),
		"agents": lines(10_000, func(i int) string { return fmt.Sprintf("User-agent: b%d\n", i) }) +
			strings.Repeat("License: /\n", 10_000),
		"groups": "User-agent: *\nContent-Usage: train-ai=n\n" +
			lines(10_000, func(i int) string { return fmt.Sprintf("User-agent: b%d\nAllow: /\n", i) }),
		"signals": "User-agent: *\nContent-Signal: " +
			strings.Repeat("search=yes,search=no,", 20_000),
	} {
		if len(robotsCodes(t, robots)) == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
	for name, text := range map[string]string{
		"contents":      rslText(strings.Repeat(content, 100_000)),
		"many contents": rslText(strings.Repeat(strings.Replace(content, "/\"", "a\"", 1), 10_000)),
		"tokens": rslText("<content url=\"/\"><license><permits type=\"usage\">" +
			strings.Repeat("x,", 100_000) + "</permits></license></content>"),
		"deep": rslText("<content url=\"/\">" + strings.Repeat("<license>", 40_000)),
		"repeated": rslText("<content url=\"/\"><license>" +
			strings.Repeat("<permits type=\"usage\"/>", 15_000) + "</license></content>"),
	} {
		if len(licenceCodes(t, text, BySite)) == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
	for name, text := range map[string]string{
		"a long file": "[" + strings.Repeat(" ", 10<<20) + "]",
		"entries":     "[" + strings.Repeat("1,", 100_000) + "1]",
		"members":     "[{" + lines(40_000, func(i int) string { return fmt.Sprintf("\"m%d\":1,", i) }) + "\"x\":1}]",
	} {
		if _, found := CheckTDMRep("t", []byte(text), everyOne(t)); len(found) == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
	own := acap.Own{URL: home + "/a"}
	for i := range 10_000 {
		own.Tags = append(own.Tags, acap.Tag{Source: acap.Header, Name: "Content-Usage", Content: keys(10) +
			fmt.Sprintf(",x%d=n", i), Line: i + 1, Column: 1})
	}
	p := policyOf("User-agent: *\n", nil, everyOne(t)).Narrow(own)
	if !slices.Contains(codesOf(p), "too-many-findings") {
		t.Error("10,000 header lines: not all labels are read")
	}
}
