package actions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestAnswer(t *testing.T) {
	d := newDesk(t, Options{})
	d.work(t, down+"/line")
	d.submit(t, d.other, acap.TakeDown, "http://elsewhere.example/x", "k")
	for i, c := range []struct {
		Call
		code string
	}{
		{Call{Do: DoSubmit, Token: d.token, Key: "a", Action: acap.TakeDown, URL: site + "/x"}, ""},
		{Call{Do: DoSubmit, Token: d.token, Key: "a", Action: acap.TakeDown, URL: site + "/x"}, ""},
		{Call{Do: DoSubmit, Token: d.token, Key: "a", Action: acap.TakeDown, URL: site + "/y"}, KeyReused},
		{Call{Do: DoSubmit, Token: d.token, Key: "b", Action: acap.TakeDown, URL: "http://elsewhere.example/x"},
			WrongOrigin},
		{Call{Do: DoSubmit, Token: d.token + "x", Key: "b", Action: acap.TakeDown, URL: site + "/y"}, BadCredential},
		{Call{Do: DoSubmit, Key: "b", Action: acap.TakeDown, URL: site + "/y"}, BadCredential},
		{Call{Do: DoPreview, Token: d.token, Key: "c", Action: acap.TakeDown, URL: "http://elsewhere.example/x"},
			WrongOrigin},
		{Call{Do: DoPreview, Token: d.token, Key: "c", Action: acap.TakeDown, URL: site + "/*"}, BadURL},
		{Call{Do: DoPreview, Key: "c", Action: acap.TakeDown, URL: site + "/y"}, BadCredential},
		{Call{Do: DoPreview, As: AsAnyone, Key: "c", Action: acap.TakeDown, URL: site + "/y"}, BadCredential},
		{Call{Do: "erase", Token: d.token}, Malformed},
		{Call{Do: "erase"}, BadCredential},
		{Call{Token: d.token}, Malformed},
		{Call{Do: DoGet, Token: d.token, ID: 1}, ""}, // a request made by a line of the same origin
		{Call{Do: DoGet, Token: d.token, ID: 2}, NotFound},
		{Call{Do: DoGet, Token: d.token, ID: 99}, NotFound},
		{Call{Do: DoGet, ID: 1}, BadCredential},
		{Call{Do: DoReceipt, Token: d.token, ID: 2}, NotFound},
		{Call{Do: DoReceipt, Token: d.token, ID: 3}, NotFound},
		{Call{Do: DoWithdraw, Token: d.token, ID: 1}, LineStands},
		{Call{Do: DoWithdraw, Token: d.token, ID: 2}, NotFound},
		{Call{Do: DoWithdraw, Token: d.token, ID: 3}, ""},
	} {
		a := d.Answer(c.Call)
		if a.Code != c.code || (a.Why == "") != (a.Code == "") || (a.Request == nil) != (a.Code != "") ||
			(a.Head == nil) != (a.Code != "") {
			t.Errorf("%d: %+v", i, a)
		}
		if a.Code == "" && c.Do == DoSubmit && (a.Request.ID != 3 || a.Replayed != (i == 1)) {
			t.Errorf("%d: %+v", i, a)
		}
		if text, err := json.Marshal(a); err != nil || strings.Contains(string(text), d.token) {
			t.Errorf("%d: %s, %v", i, text, err)
		}
	}
	d.clock.pass(2000 * time.Hour)
	if a := d.Answer(Call{Do: DoGet, Token: d.token, ID: 1}); a.Code != BadCredential {
		t.Errorf("an expired credential: %+v", a)
	}
}

// A preview names the page of a submission and makes no request.
func TestAnswerPreview(t *testing.T) {
	d := newDesk(t, Options{})
	for i, c := range []Call{{Token: d.token, Key: "k"}, {As: AsOperator}} {
		c.Do, c.Action, c.URL = DoPreview, acap.TakeDown, "HTTP://Quay.example:80/a/../x"
		a := d.Answer(c)
		if a.Code != "" || a.Request == nil || a.Request.URL != site+"/x" || a.Request.ID != 0 {
			t.Errorf("%d: %+v", i, a)
		}
	}
	if a := d.Answer(Call{Do: DoList, As: AsOperator}); len(a.Requests) != 0 {
		t.Errorf("%+v", a.Requests)
	}
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k") // the preview has not used the key
	if a := d.Answer(Call{Do: DoList, As: AsOperator}); len(a.Requests) != 1 {
		t.Errorf("%+v", a.Requests)
	}
}

// A list contains only requests of the credential's origins, whatever the filter says.
func TestAnswerList(t *testing.T) {
	d := newDesk(t, Options{})
	for i := range 7 {
		d.submit(t, d.ours, acap.TakeDown, fmt.Sprintf("%s/%d", site, i), fmt.Sprint(i))
		d.submit(t, d.other, acap.TakeDown, fmt.Sprintf("http://elsewhere.example/%d", i), fmt.Sprint(i))
	}
	var ids []uint64
	for f := (Filter{Origins: []string{"http://elsewhere.example", site}, Limit: 3}); ; {
		a := d.Answer(Call{Do: DoList, Token: d.token, Filter: f})
		if a.Code != "" || len(a.Requests) > 3 {
			t.Fatalf("%+v", a)
		}
		for _, r := range a.Requests {
			ids = append(ids, r.ID)
		}
		if f.After = a.Next; a.Next == 0 {
			break
		}
	}
	if got := fmt.Sprint(ids); got != "[1 3 5 7 9 11 13]" {
		t.Error(got)
	}
	foreign := Filter{Origins: []string{"http://elsewhere.example"}}
	if a := d.Answer(Call{Do: DoList, Token: d.token, Filter: foreign}); a.Code != "" || len(a.Requests) > 0 {
		t.Errorf("%+v", a)
	}
	if a := d.Answer(Call{Do: DoList, As: AsOperator, Filter: foreign}); len(a.Requests) != 7 {
		t.Errorf("%+v", a)
	}
	if a := d.Answer(Call{Do: DoList, Token: d.token, Filter: Filter{URL: "HTTP://Quay.example:80/a/../3"}}); len(
		a.Requests) != 1 || a.Requests[0].ID != 7 {
		t.Errorf("%+v", a)
	}
}

func TestStatus(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	d.submit(t, d.ours, acap.TakeDown, site+"/waits", "k")
	d.clock.pass(time.Minute)
	asked := d.clock.now
	d.submit(t, nil, acap.TakeDown, site+"/x", "")
	d.clock.pass(time.Minute)
	d.submit(t, nil, acap.TakeDown, site+"/y", "")
	a := d.Answer(Call{Do: DoStatus})
	if s := a.Status; s == nil || s.Open != 3 || s.Waiting != 1 || s.Failed != 0 || !s.TakeDown.Equal(asked) {
		t.Errorf("%+v", s)
	}
}

// Concurrent submissions with the same key make one request.
func TestAnswerAtOnce(t *testing.T) {
	d := newDesk(t, Options{})
	const many = 50
	answers := make(chan Answer, many)
	for range many {
		go func() {
			answers <- d.Answer(Call{Do: DoSubmit, Token: d.token, Key: "k", Action: acap.TakeDown, URL: site + "/x"})
		}()
	}
	fresh := 0
	for range many {
		a := <-answers
		if a.Code != "" || a.Request.ID != 1 {
			t.Errorf("%+v", a)
		}
		if !a.Replayed {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d are not replayed", fresh)
	}
}

// TestAnswerAs checks what the operator and what everybody sees and changes, and that reading leaves no trace in
// the chain.
func TestAnswerAs(t *testing.T) {
	d := newDesk(t, Options{})
	d.work(t, down+"/line")
	d.submit(t, d.ours, acap.TakeDown, site+"/quiet", "k")
	d.submit(t, d.other, acap.TakeDown, "http://elsewhere.example/x", "k")
	before := len(d.events(t))
	for i, c := range []struct {
		Call
		code, ids string
	}{
		{Call{Do: DoList, As: AsOperator}, "", "[1 2 3]"},
		{Call{Do: DoList, As: AsOperator, Filter: Filter{Newest: true, Limit: 2}}, "", "[3 2]"},
		{Call{Do: DoList, As: AsOperator, Filter: Filter{Newest: true, Before: 2}}, "", "[1]"},
		{Call{Do: DoList, Token: d.token, Filter: Filter{Newest: true}}, "", "[2 1]"},
		{Call{Do: DoList, As: AsAnyone}, "", "[1]"},
		{Call{Do: DoList, As: AsAnyone, Token: d.token, Filter: Filter{Origins: []string{site}}}, "", "[1]"},
		{Call{Do: DoGet, As: AsOperator, ID: 3}, "", "[3]"},
		{Call{Do: DoGet, As: AsOperator, ID: 9}, NotFound, "[]"},
		{Call{Do: DoGet, As: AsAnyone, ID: 1}, "", "[1]"},
		{Call{Do: DoGet, As: AsAnyone, ID: 2}, NotFound, "[]"},
		{Call{Do: DoReceipt, As: AsAnyone, ID: 1}, NotFound, "[]"},
		{Call{Do: DoSubmit, As: AsAnyone, Key: "k", Action: acap.TakeDown, URL: site + "/y"}, BadCredential, "[]"},
		{Call{Do: DoWithdraw, As: AsAnyone, ID: 2}, BadCredential, "[]"},
		{Call{Do: DoWithdraw, As: "root", ID: 2}, Malformed, "[]"},
		{Call{Do: DoList, As: AsOrigins, Origins: []string{site}}, "", "[1 2]"},
		{Call{Do: DoList, As: AsOrigins}, Malformed, "[]"},
		{Call{Do: DoGet, As: AsOrigins, Origins: []string{site}, ID: 2}, "", "[2]"},
		{Call{Do: DoGet, As: AsOrigins, Origins: []string{site}, ID: 3}, NotFound, "[]"},
		{Call{Do: DoWithdraw, As: AsOrigins, Origins: []string{site}, ID: 2}, BadCredential, "[]"},
		{Call{Do: DoSubmit, As: AsOrigins, Origins: []string{site}, Key: "k", Action: acap.TakeDown, URL: site + "/y"},
			BadCredential, "[]"},
		{Call{Do: DoFind, Token: "acap_x"}, BadCredential, "[]"},
		{Call{Do: DoGet, As: AsOperator, Node: "a", ID: 3}, NotFound, "[]"},
		{Call{Do: DoList, As: AsOperator, At: Positions{"a": 3}}, Malformed, "[]"},
	} {
		a := d.Answer(c.Call)
		ids := []uint64{}
		for _, r := range a.Requests {
			ids = append(ids, r.ID)
		}
		if a.Request != nil {
			ids = append(ids, a.Request.ID)
		}
		if a.Code != c.code || fmt.Sprint(ids) != c.ids {
			t.Errorf("%d: %+v", i, a)
		}
	}
	if after := len(d.events(t)); after != before {
		t.Errorf("reading made %d entries", after-before)
	}
	for _, do := range []string{DoIdentify, DoFind} {
		if a := d.Answer(Call{Do: do, Token: d.token}); a.Credential == nil || a.Credential.Name != "quay" {
			t.Errorf("%s: %+v", do, a)
		}
	}
	a := d.Answer(Call{Do: DoSubmit, As: AsOperator, Key: "f", Action: acap.TakeDown, URL: site + "/z"})
	if a.Code != "" || a.Request.From.Kind != Operator {
		t.Fatalf("%+v", a)
	}
	if again := d.Answer(Call{Do: DoRepeat, As: AsOperator, Key: "f"}); again.Request == nil ||
		again.Request.ID != a.Request.ID {
		t.Errorf("%+v", again)
	}
	for code, c := range map[string]Call{NotFound: {As: AsOperator, Key: "g"},
		BadCredential: {As: AsAnyone, Key: "f"}} {
		if c.Do = DoRepeat; d.Answer(c).Code != code {
			t.Errorf("%+v: %+v", c, d.Answer(c))
		}
	}
	if a := d.Answer(Call{Do: DoRepeat, Token: d.token, Key: "f"}); a.Code != NotFound { // the key is the operator's
		t.Errorf("%+v", a)
	}
	again := d.Answer(Call{Do: DoSubmit, As: AsOperator, Key: "f", Action: acap.TakeDown, URL: site + "/z"})
	if !again.Replayed {
		t.Errorf("%+v", again)
	}
	if a = d.Answer(Call{Do: DoWithdraw, As: AsOperator, ID: a.Request.ID}); a.Code != "" || a.Request.Standing {
		t.Errorf("%+v", a)
	}
}

// What everybody sees of a request says nothing about the archive or about credentials.
func TestPublic(t *testing.T) {
	r := Request{ID: 3, Action: acap.TakeDown, URL: site + "/x", Origin: site, Source: "secret", State: Failed,
		Why: "secret", Erased: 2, Status: 200, Failures: 1, From: Source{Kind: Channel, File: site + "/robots.txt",
			Line: 4, Text: down + "/x", Credential: "secret"}}
	text, err := json.Marshal(r.public())
	if err != nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), "erased") ||
		strings.Contains(string(text), "status") || !strings.Contains(string(text), "robots.txt:4: "+down+"/x") {
		t.Errorf("%s, %v", text, err)
	}
}
