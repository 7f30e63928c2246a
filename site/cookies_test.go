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
		"#HttpOnly_other.example\tFALSE\t/\tFALSE\t0\tquiet\t4\r",
		"127.0.0.1\tFALSE\t/\tFALSE\t0\tnumber\t5",
	}, "\n")
	jar, err := readCookies(strings.NewReader(lines), now)
	if err != nil {
		t.Fatal(err)
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
		".co.uk\tTRUE\t/\tFALSE\t0\ta\tb":              "hosts of others",
		"com\tTRUE\t/\tFALSE\t0\ta\tb":                 "hosts of others",
		"paper.example\tFALSE\t/\tFALSE\t0\ta b\tc":    "not valid",
		"paper.example\tFALSE\t/\tFALSE\t0\ta\tb\x01c": "not valid",
	} {
		_, err := readCookies(strings.NewReader("# comment\n"+line+"\n"), time.Now())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
