package check

import (
	"encoding/xml"
	"io"
	"strconv"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

// Tests holds results in the form of JUnit, a format that CI systems read.
type Tests struct {
	Name   string
	Suites []Suite
}

// Suite is a group of test cases.
type Suite struct {
	Name  string
	Cases []TestCase
}

// TestCase is one result. Failure, if not empty, says why it failed; Skipped, if not empty, says
// why it was skipped.
type TestCase struct {
	Name, Class string
	Failure     string // the reason of the failure, as one sentence
	Detail      string // further details of any result
	Skipped     string
	Took        time.Duration
}

func (s *Suite) counts() counts {
	var took time.Duration
	n := counts{Tests: len(s.Cases)}
	for _, c := range s.Cases {
		took += c.Took
		switch {
		case c.Failure != "":
			n.Failures++
		case c.Skipped != "":
			n.Skipped++
		}
	}
	n.Time = seconds(took)
	return n
}

// The elements of a JUnit report. encoding/xml replaces what XML cannot contain.
type (
	counts struct {
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Errors   int     `xml:"errors,attr"`
		Skipped  int     `xml:"skipped,attr"`
		Time     seconds `xml:"time,attr"`
	}
	junitTests struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		counts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		counts
		Cases []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string     `xml:"name,attr"`
		Class   string     `xml:"classname,attr"`
		Time    seconds    `xml:"time,attr"`
		Failure *junitNote `xml:"failure"`
		Skipped *junitNote `xml:"skipped"`
		Output  string     `xml:"system-out,omitempty"`
	}
	junitNote struct {
		Message string `xml:"message,attr"`
		Detail  string `xml:",chardata"`
	}
)

// seconds is a duration that is written in the form of JUnit.
type seconds time.Duration

func (s seconds) MarshalXMLAttr(name xml.Name) (xml.Attr, error) {
	return xml.Attr{Name: name, Value: strconv.FormatFloat(time.Duration(s).Seconds(), 'f', 3, 64)}, nil
}

// WriteJUnit writes the results as JUnit XML. The XML is well-formed, whatever the texts contain.
func (t *Tests) WriteJUnit(w io.Writer) error {
	out := junitTests{Name: t.Name}
	for _, s := range t.Suites {
		suite := junitSuite{Name: s.Name, counts: s.counts()}
		for _, c := range s.Cases {
			suite.Cases = append(suite.Cases, c.junit())
		}
		out.Suites = append(out.Suites, suite)
		out.Tests += suite.Tests
		out.Failures += suite.Failures
		out.Skipped += suite.Skipped
		out.Time += suite.Time
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	text := display.NewText(w, false)
	e := xml.NewEncoder(text)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (c *TestCase) junit() junitCase {
	j := junitCase{Name: c.Name, Class: c.Class, Time: seconds(c.Took)}
	switch {
	case c.Failure != "":
		j.Failure = &junitNote{c.Failure, c.Detail}
	case c.Skipped != "":
		j.Skipped = &junitNote{Message: c.Skipped}
		j.Output = c.Detail
	default:
		j.Output = c.Detail
	}
	return j
}
