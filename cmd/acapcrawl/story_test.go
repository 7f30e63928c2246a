package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
)

// story is a reader in front of the archive of the harbour.
type story struct {
	*pagecheck.Browser
	t *testing.T
	h *harbour
	s *serving
}

// TestStory reads, explains and takes down a page in Chromium, by clicks and keys, in an archive that the program
// crawled and serves.
func TestStory(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := pagecheck.Browse(t)
	h, data := crawlHarbour(t)
	s, end := startGuarded(t, data, "  replay_domain: replay.localhost\n")
	run := func(name string, width int64, scheme string, scripts bool, part func(story)) {
		t.Run(name, func(t *testing.T) {
			in := b.In(t)
			in.Resize(width, scheme)
			in.Scripts(scripts)
			part(story{in, t, h, s})
		})
	}
	run("360 px", 360, "dark", true, story.read)
	run("without JavaScript", 1400, "light", false, story.read)
	run("keyboard", 1400, "dark", true, story.pressKeys)
	run("take-down", 1400, "light", true, func(r story) {
		r.read()
		r.takeDown()
	})
	if status := end(); status != statusDone {
		t.Error(status)
	}
}

// follow follows a link or button to a page that must have this status.
func (r story) follow(text string, status int64) {
	r.t.Helper()
	if got := r.Follow(text); got != status {
		r.t.Fatalf("%q leads to %s with status %d: %s", text, r.Address(), got, r.Text())
	}
}

// search opens the first page and searches for words.
func (r story) search(words string) {
	r.t.Helper()
	r.Open(r.s.at + "/")
	r.Fill("Words or address", words)
	if status := r.Submit(pagecheck.Enter); status != http.StatusOK {
		r.t.Fatal(status, r.Text())
	}
}

// version returns the words of the link to a listed version, counted from 0.
func (r story) version(n int) string {
	r.t.Helper()
	return pagecheck.Eval[string](r.Browser, fmt.Sprintf(
		`document.querySelectorAll("#list td a[href^='/copy/']")[%d].innerText`, n))
}

// read finds the ferry page, opens its versions and compares them, and asks why another page is not shown.
func (r story) read() {
	ferry := r.h.URL + "/news/ferry.html"
	r.search("ferry")
	r.See("1 result", "The ferry sails again", "Original site: "+ferry)
	r.follow("The ferry sails again", http.StatusOK)
	r.See(ferry, "Fetched", "until 1 January 2100", "/robots.txt:3:1", "ACAP-allow-present: /")
	r.Click("More about this copy")
	r.See("Published by "+strings.TrimPrefix(r.h.URL, "http://"), r.h.URL+"/robots.txt, line 3", "Cite", r.Address())
	r.AwaitColour("iframe", ferryColour)
	r.search(ferry)
	r.See("2 versions", ferry)
	r.follow("Compare selected versions", http.StatusOK)
	r.See("Two versions compared", "1 added, 0 removed, 0 changed", "On Sundays it sails every two hours.")
	r.follow("All versions", http.StatusOK)
	r.follow(r.version(1), http.StatusOK)
	r.See("/robots.txt:3:1", "ACAP-allow-present: /", "Next")
	r.AwaitColour("iframe", ferryColour)
	r.search("bowline")
	r.follow("Versions of On knots", http.StatusOK)
	r.follow(r.version(0), http.StatusOK)
	r.See("The terms prohibit modifications", "whose address names a host")
	r.AwaitColour("iframe", paperColour)
	r.search("pier paint")
	r.See("Letters about the pier", "On this page, 1 result may be listed but not shown in full")
	if strings.Contains(r.Text(), "Versions") {
		r.t.Error("a link leads to versions that may not be shown")
	}
	line := "ACAP-disallow-present-currentcopy: /letters/"
	if status := r.Open(r.s.at + "/versions/" + r.h.URL + "/letters/pier.html"); status != 451 {
		r.t.Error(status)
	}
	r.See("may not be shown", r.h.URL+"/robots.txt, line 6", line)
	r.follow("Explain the terms", http.StatusOK)
	r.See("What may be done with this page", r.h.URL+"/letters/pier.html", "present-currentcopy", "refused", line)
}

// takeDown lets the operator log in and take down the ferry page, and looks for the page in every route.
func (r story) takeDown() {
	ferry := r.h.URL + "/news/ferry.html"
	stamps := r.stamps("/timemap/link/" + ferry)
	if len(stamps) != 2 {
		r.t.Fatal(stamps)
	}
	gone, lists := routesOf(r.h.URL, ferry, stamps)
	for _, path := range gone {
		if status := r.s.read(r.t, path, io.Discard); status >= 400 {
			r.t.Errorf("before: %s: %d", path, status)
		}
	}
	for _, path := range lists {
		if !strings.Contains(r.s.text(r.t, path), ferry) {
			r.t.Errorf("before: %s does not list the page", path)
		}
	}
	before := r.s.text(r.t, "/sites")

	r.submitTakeDown(ferry, gone)
	for _, path := range gone {
		if status := r.s.read(r.t, path, io.Discard); status != http.StatusGone {
			r.t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range lists {
		var out strings.Builder
		status := r.s.read(r.t, path, &out)
		if strings.Contains(out.String(), ferry) || strings.Contains(out.String(), "sails") {
			r.t.Errorf("%d %s lists the page: %s", status, path, out.String())
		}
	}
	if r.s.text(r.t, "/sites") == before {
		r.t.Error("/sites counts as many pages as before")
	}
	for _, path := range gone[:2] {
		if status := r.Open(r.s.at + path); status != http.StatusGone {
			r.t.Errorf("%s: %d", path, status)
		}
		r.See("Erased from this archive")
	}
	r.follow("Explain the terms", http.StatusOK)
	r.See("This page was taken down by the operator")
	r.search("ferry")
	r.See("No page that you may see matches")
}

// submitTakeDown lets the operator log in, submit a take-down of a page with two versions, and confirm it. Until then
// the page is answered at all these paths.
func (r story) submitTakeDown(page string, paths []string) {
	r.Open(r.s.at + "/")
	r.follow("Log in", http.StatusOK)
	r.Fill("User name", "operator")
	r.Fill("Password", "wrong")
	if status := r.Submit(pagecheck.Enter); status != http.StatusForbidden {
		r.t.Error(status, r.Text())
	}
	r.Fill("Password", operatorPassword)
	if status := r.Submit(pagecheck.Enter); status != http.StatusOK {
		r.t.Fatal(status, r.Text())
	}
	r.See("operator", "Log out")
	r.follow("Requests", http.StatusOK)
	r.Fill("Address of the page", page)
	r.Click("Take down")
	r.follow("Submit", http.StatusOK)
	r.See(page, "2 versions of this page", "will be erased. This cannot be undone.")
	for _, path := range paths {
		if status := r.s.read(r.t, path, io.Discard); status >= 400 {
			r.t.Errorf("before the take-down is confirmed: %s: %d", path, status)
		}
	}
	r.follow("Erase them", http.StatusOK)
	r.See("take-down", page, "done", "Requested by the operator", "Erased 2 versions")
	r.follow("Log out", http.StatusOK)
}

// stamps returns the timestamps in the text at path, the first one first.
func (r story) stamps(path string) (list []string) {
	r.t.Helper()
	for _, found := range regexp.MustCompile(`/raw/(\d{14})/`).FindAllStringSubmatch(r.s.text(r.t, path), -1) {
		list = append(list, found[1])
	}
	return list
}

// routesOf returns the routes about a page that lead to status 410 after a take-down, and those that list pages.
func routesOf(origin, page string, stamps []string) (gone, lists []string) {
	sent := url.QueryEscape(page)
	gone = []string{"/versions/" + page}
	for _, stamp := range stamps {
		gone = append(gone, "/copy/"+stamp+"/"+page, "/raw/"+stamp+"/"+page)
	}
	gone = append(gone, "/thumbnail/"+stamps[len(stamps)-1]+"/"+page, "/compare/"+strings.Join(stamps, "/")+"/"+page,
		"/timegate/"+page, "/timemap/link/"+page, "/timemap/json/"+page, "/api/v1/show?url="+sent)
	return gone, []string{"/search?q=ferry", "/cdx?url=" + sent, "/cdx?matchType=host&url=" +
		url.QueryEscape(origin+"/"),
		"/feed.atom?q=ferry", "/feed.atom?url=" + sent, "/api/v1/search?q=ferry", "/api/v1/archive/ls"}
}

// pressKeys uses the keyboard only: it crosses twenty years of versions, and tries the shortcuts.
func (r story) pressKeys() {
	tide := r.h.URL + "/news/tide.html"
	r.Open(r.s.at + "/versions/" + tide)
	r.See(fmt.Sprint(12*storyYears+1, " versions"))
	for _, want := range []string{"Skip to the content", "Skip the calendar", "Skip the list", "Explain the terms"} {
		r.tab(want)
		if strings.HasPrefix(want, "Skip") {
			r.Press(pagecheck.Enter)
		}
	}
	r.Open(r.s.at + "/versions/" + tide)
	for _, want := range []string{"Skip to the content", "Skip the calendar", "Year", "Show this year"} {
		r.tab(want)
		switch want {
		case "Skip to the content":
			r.Press(pagecheck.Enter)
		case "Year":
			r.Press(strconv.Itoa(time.Now().Year() - storyYears + 1))
		}
	}
	if status := r.Submit(pagecheck.Enter); status != http.StatusOK {
		r.t.Fatal(status, r.Text())
	}
	r.tab(r.version(0))
	if status := r.Submit(pagecheck.Enter); status != http.StatusOK || !strings.Contains(r.Address(), "/copy/") {
		r.t.Error(status, r.Address())
	}
	r.Open(r.s.at + "/copy/20990101000000/" + r.h.URL + "/news/ferry.html")
	inFrame := func() bool { return pagecheck.Eval[bool](r.Browser, `document.activeElement.matches("iframe")`) }
	for n := 0; n < 30 && !inFrame(); n++ {
		r.Tab()
	}
	if !inFrame() {
		r.t.Error("the keyboard does not reach the copy")
	}
	r.pressShortcuts()
}

// pressShortcuts tries each shortcut, its documentation on the page, and switches shortcuts off.
func (r story) pressShortcuts() {
	r.Open(r.s.at + "/search?q=pier")
	for _, c := range [][2]string{{"j", "Letters about the pier"}, {"j", "Tide tables"},
		{"k", "Letters about the pier"}, {"/", "Words or address"}} {
		if r.Press(c[0]); r.Focused() != c[1] || !r.FocusVisible() {
			r.t.Errorf("after %s, the focus is on %q", c[0], r.Focused())
		}
	}
	r.Press("?") // the field contains it
	if got := pagecheck.Eval[string](r.Browser, "document.activeElement.value"); got != "?" {
		r.t.Errorf("the field contains %q", got)
	}
	r.Open(r.s.at + "/search?q=pier")
	r.Press("?")
	r.See("move to the search field", "move to the next, the previous result", "open the result", "show this list")
	r.Press(" " + pagecheck.Esc + "j") // the focus is on the box "Use these shortcuts"
	if got := r.Focused(); got == "Letters about the pier" {
		r.t.Error("the shortcuts are still on")
	}
	r.Click("Keyboard shortcuts")
	r.Press(" " + pagecheck.Esc + "j")
	if got := r.Focused(); got != "Letters about the pier" {
		r.t.Errorf("the shortcuts are still off; the focus is on %q", got)
	}
	// The letters may not be shown, so their heading leads to the original; that of the tide tables leads to a copy.
	if status := r.Submit(pagecheck.Enter); status != http.StatusOK || !strings.HasPrefix(r.Address(), r.h.URL) {
		r.t.Errorf("the first result leads to %s", r.Address())
	}
	r.Open(r.s.at + "/search?q=pier")
	r.Press("jj")
	if status := r.Submit(pagecheck.Enter); status != http.StatusOK ||
		!strings.HasPrefix(r.Address(), r.s.at+"/copy/") {
		r.t.Errorf("the second result leads to %s", r.Address())
	}
}

// tab moves to the next element, which must be the expected one, and visibly have the focus.
func (r story) tab(want string) {
	r.t.Helper()
	if r.Tab(); r.Focused() != want {
		r.t.Fatalf("Tab leads to %q instead of %q", r.Focused(), want)
	}
	if !r.FocusVisible() {
		r.t.Errorf("the focus on %q is not visible", want)
	}
}
