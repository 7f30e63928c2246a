package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
)

// ledgers are the requests of several nodes, for a test of lists, by ID.
type ledgers map[string][]actions.Request

// add adds a request to the ledgers of nodes, first seen at the second at.
func (l ledgers) add(url string, at int, standing bool, nodes ...string) {
	for _, node := range nodes {
		l[node] = append(l[node], actions.Request{Node: node, ID: uint64(len(l[node]) + 1), Action: acap.TakeDown,
			URL: url, Asked: time.Unix(int64(at), 0), Standing: standing})
	}
}

// page returns the names of the requests on a page of limit requests at the position at, and the position of the next
// page. Each node sends at most sends requests.
func (l ledgers) page(at actions.Positions, newest bool, limit, sends int, home string) (names []string,
	next actions.Positions) {
	m := requestMerge{newest: newest, limit: limit, home: home, seen: map[requestKey]int{}, owners: &owners{
		find: func(host string) (string, error) { return host[:1], nil }, known: map[string]string{}}}
	for _, node := range []string{"a", "b", "c"} {
		from, known := at[node]
		if !known && at != nil {
			continue
		}
		list := slices.Clone(l[node])
		if newest {
			slices.Reverse(list)
		}
		list = slices.DeleteFunc(list, func(r actions.Request) bool {
			return !newest && r.ID <= from || newest && from > 0 && r.ID >= from
		})
		r := reply{node: node}
		if len(list) > sends {
			r.Next, list = 1, list[:sends]
		}
		r.Requests = list
		m.lists = append(m.lists, &requestList{reply: r, at: from})
	}
	m.merge()
	for _, r := range m.out {
		names = append(names, r.Name())
	}
	return names, m.next(at)
}

// A list of the requests of several nodes has each request once, in both directions and however long its pages are.
func TestMergeRequests(t *testing.T) {
	l := ledgers{}
	l.add("http://a.example/1", 1, true, "a", "b", "c")
	l.add("http://b.example/2", 2, true, "a", "b", "c")
	l.add("http://b.example/3", 3, false, "b", "c") // it was withdrawn before a heard of it
	l.add("http://c.example/4", 4, true, "c")       // nobody else has heard of it
	l.add("http://a.example/5", 5, false, "a", "b", "c")
	l.add("http://a.example/5", 6, true, "a", "b", "c") // the same again
	l.add("http://b.example/7", 7, true, "b")
	want := "[a:1 b:2 b:3 c:4 a:3 a:4 b:6]"
	for limit := 1; limit < 9; limit++ {
		for _, newest := range []bool{false, true} {
			var all []string
			pages := 0
			for at, more := actions.Positions(nil), true; more; more = at != nil {
				var names []string
				if names, at = l.page(at, newest, limit, limit, ""); len(names) > limit {
					t.Errorf("a page of %d", len(names))
				}
				all = append(all, names...)
				if pages++; pages > 20 {
					t.Fatal("the list does not end")
				}
			}
			if newest {
				slices.Reverse(all)
			}
			if got := fmt.Sprint(all); got != want {
				t.Errorf("limit %d, newest %v: %s", limit, newest, got)
			}
		}
	}
	if names, _ := l.page(nil, false, 9, 9, "c"); strings.Join(names, " ") != "c:1 c:2 c:3 c:4 c:5 c:6 b:6" {
		t.Error(names)
	}
}

// Nodes note the same version of a robots.txt at different times, with different IDs.
func TestMergeLines(t *testing.T) {
	l := ledgers{}
	l.add("http://a.example/1", 1, true, "a")
	l.add("http://a.example/2", 2, true, "a")
	l.add("http://a.example/2", 50, true, "b")
	l.add("http://a.example/1", 51, false, "b")
	l.add("http://a.example/1", 52, false, "b")
	for node, list := range l {
		for i := range list {
			list[i].From = actions.Source{File: "http://a.example/robots.txt", Version: time.Unix(1, 0), Line: i}
			if node == "b" {
				list[i].From.Line = 1 - i
			}
		}
	}
	if names, next := l.page(nil, false, 9, 9, ""); fmt.Sprint(names) != "[a:1 a:2 b:3]" || next != nil {
		t.Error(names, next)
	}
}

// Nobody gets the rights of the operator on a node whom the server has not recognised as the operator.
func TestNodesRights(t *testing.T) {
	l := &nodeLedgers{} // it has no nodes: these calls must not reach any
	for _, c := range []struct {
		actions.Call
		code string
	}{
		{actions.Call{Do: actions.DoPreview, As: actions.AsAnyone, Action: acap.TakeDown, URL: "http://a.example/"},
			actions.BadCredential},
		{actions.Call{Do: actions.DoList, As: actions.AsOrigins, Origins: []string{"http://a.example"}},
			actions.Malformed},
		{actions.Call{Do: actions.DoSubmit, As: "root"}, actions.Malformed},
	} {
		if a, err := l.Answer(t.Context(), c.Call); err != nil || a.Code != c.code {
			t.Errorf("%+v: %+v, %v", c, a, err)
		}
	}
}
