package check

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

var someTests = Tests{Name: "t", Suites: []Suite{
	{Name: "a", Cases: []TestCase{
		{Name: "one", Class: "x", Took: 1500 * time.Millisecond},
		{Name: "two", Class: "x", Failure: "it is <wrong> & \"worse\"", Detail: "line 1\nline 2"},
	}},
	{Name: "b", Cases: []TestCase{{Name: "three", Skipped: "no network", Detail: "seen"},
		{Name: "four", Detail: "all"}}},
}}

func TestJUnit(t *testing.T) {
	var b strings.Builder
	if err := someTests.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="t" tests="4" failures="1" errors="0" skipped="1" time="1.500">
  <testsuite name="a" tests="2" failures="1" errors="0" skipped="0" time="1.500">
    <testcase name="one" classname="x" time="1.500"></testcase>
    <testcase name="two" classname="x" time="0.000">
      <failure message="it is &lt;wrong&gt; &amp; &#34;worse&#34;">line 1&#xA;line 2</failure>
    </testcase>
  </testsuite>
  <testsuite name="b" tests="2" failures="0" errors="0" skipped="1" time="0.000">
    <testcase name="three" classname="" time="0.000">
      <skipped message="no network"></skipped>
      <system-out>seen</system-out>
    </testcase>
    <testcase name="four" classname="" time="0.000">
      <system-out>all</system-out>
    </testcase>
  </testsuite>
</testsuites>
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// FuzzJUnit tests that the XML is well-formed, and contains the given texts except for characters
// that XML does not allow.
func FuzzJUnit(f *testing.F) {
	f.Add("plain", "text")
	f.Add("\x00\x1b[2J\ufffe\xff", "]]>\r\n\t<!-- & \u202e")
	f.Fuzz(func(t *testing.T, name, detail string) {
		all := Tests{Name: name, Suites: []Suite{{Name: name, Cases: []TestCase{
			{Name: name, Class: detail, Failure: name, Detail: detail}, {Skipped: name, Detail: detail},
			{Detail: detail}}}}}
		var b strings.Builder
		if err := all.WriteJUnit(&b); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(strings.NewReader(b.String()))
		cases := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %q", err, b.String())
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "testcase" {
				cases++
			}
		}
		if cases != 3 {
			t.Errorf("%d cases in %q", cases, b.String())
		}
	})
}
