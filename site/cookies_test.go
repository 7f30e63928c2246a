package site

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestReadCookies(t *testing.T) {
	now := time.Now()
	later, before := now.Add(time.Hour).Unix(), now.Add(-time.Hour).Unix()
	lines := "# Netscape HTTP Cookie File\n\n" + strings.Join([]string{
		"paper.example\tFALSE\t/\tFALSE\t0\thostonly\t1",
		fmt.Sprintf(".paper.example\tTRUE\t/members\tTRUE\t%d\tmember\t2", later),
		fmt.Sprintf("paper.example\tFALSE\t/\tFALSE\t%d\texpired\t3", before),
		"paper.example\tFALSE\t/\tFALSE\t-1\told\t3",
		"#HttpOnly_other.example\tFALSE\t/\tFALSE\t0\tquiet\t4\r",
		"127.0.0.1\tTRUE\t/\tFALSE\t0\tnumber\t5",
		fmt.Sprintf("odd.example\tFALSE\t/\tFALSE\t%d.25\todd\t\"é=6\"", later),
	}, "\n")
	jar, expired, err := readCookies(strings.NewReader(lines), now)
	if err != nil || expired != 2 {
		t.Fatal(expired, err)
	}
	for address, want := range map[string]string{
		"http://paper.example/":                 "hostonly=1",
		"https://paper.example/members/a":       "member=2; hostonly=1",
		"http://paper.example/members/a":        "hostonly=1",
		"https://www.paper.example/members/":    "member=2",
		"https://www.paper.example/":            "",
		"http://other.example/":                 "quiet=4",
		"http://notpaper.example/":              "",
		"http://127.0.0.1:8080/":                "number=5",
		"http://odd.example/":                   `odd="é=6"`,
		"https://paper.example.attacker.test/a": "",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range jar.Cookies(u) {
			got = append(got, c.Name+"="+c.Value)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestReadCookiesWrong(t *testing.T) {
	for line, want := range map[string]string{
		"paper.example FALSE / FALSE 0 a b":            "7 fields",
		"paper.example\tMAYBE\t/\tFALSE\t0\ta\tb":      "neither TRUE nor FALSE",
		"paper.example\tFALSE\t/\tno\t0\ta\tb":         "neither TRUE nor FALSE",
		"paper.example\tFALSE\t/\tFALSE\tsoon\ta\tb":   "not a time",
		"paper.example\tFALSE\t/\tFALSE\tNaN\ta\tb":    "not a time",
		"paper.example\tFALSE\t/\tFALSE\tInf\ta\tb":    "not a time",
		"paper.example\tFALSE\t/\tFALSE\t1e15\ta\tb":   "not a time",
		"\tFALSE\t/\tFALSE\t0\ta\tb":                   "not the name of a host",
		"https://a.example\tFALSE\t/\tFALSE\t0\ta\tb":  "not the name of a host",
		"a.example:80\tFALSE\t/\tFALSE\t0\ta\tb":       "not the name of a host",
		"::1\tFALSE\t/\tFALSE\t0\ta\tb":                "not the name of a host",
		"a b.example\tTRUE\t/\tFALSE\t0\ta\tb":         "not the name of a host",
		strings.Repeat("x", 1<<17):                     "longer than",
		".co.uk\tTRUE\t/\tFALSE\t0\ta\tb":              "hosts of others",
		"com\tTRUE\t/\tFALSE\t0\ta\tb":                 "hosts of others",
		"paper.example\tFALSE\t/\tFALSE\t0\ta b\tc":    "contains a blank",
		"paper.example\tFALSE\t/\tFALSE\t0\ta\tb\x01c": "contains a blank",
	} {
		_, _, err := readCookies(strings.NewReader("# comment\n"+line+"\n"), time.Now())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, _, err := readCookies(strings.NewReader("# comment\n"), time.Now()); err == nil {
		t.Error("a file without cookies is no error")
	}
}
