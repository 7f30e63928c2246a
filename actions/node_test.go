package actions

import (
	"maps"
	"testing"
	"time"
)

// A name of a request, and the positions of a list, are read only in the form in which they are written.
func TestNames(t *testing.T) {
	for text, want := range map[string]Request{"17": {ID: 17}, "a:17": {Node: "a", ID: 17},
		"n-1_x:1": {Node: "n-1_x", ID: 1}} {
		node, id, ok := ParseName(text)
		if !ok || node != want.Node || id != want.ID || want.Name() != text {
			t.Errorf("%s: %s %d %v", text, node, id, ok)
		}
	}
	for _, text := range []string{"", ":", ":17", "a:", "a", "017", "a:017", "+1", "a:-1", "a:18446744073709551616",
		"17:a"} {
		if node, id, ok := ParseName(text); ok {
			t.Errorf("%q: %q %d", text, node, id)
		}
	}
	at := Positions{"b": 9, "a": 0, "c": 17}
	if text := at.String(); text != "a:0,b:9,c:17" {
		t.Error(text)
	} else if again, ok := ParsePositions(text); !ok || !maps.Equal(again, at) {
		t.Error(again)
	}
	for _, text := range []string{"", "17", "a:1,", "a:1,17"} {
		if at, ok := ParsePositions(text); ok {
			t.Errorf("%q: %v", text, at)
		}
	}
}

// What several ledgers say is added: counts, and the oldest and newest times.
func TestAdd(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	h := Holding{}
	h.Add(Holding{Versions: 2, First: late, Last: late})
	h.Add(Holding{Versions: 1, First: early, Last: early})
	h.Add(Holding{})
	if h != (Holding{3, early, late}) {
		t.Errorf("%+v", h)
	}
	s := Status{Open: 1, Due: 1, TakeDown: late}
	s.Add(Status{Open: 2, Waiting: 1, Failed: 1, TakeDown: early, Erased: late})
	s.Add(Status{})
	if s != (Status{3, 1, 1, 1, early, late}) {
		t.Errorf("%+v", s)
	}
}
