package rewrite

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestTooMuch checks that no document becomes much longer than it was, however it repeats addresses, and that work ends
// when nobody waits for it any more.
func TestTooMuch(t *testing.T) {
	long := func(string, Kind) string { return "/" + strings.Repeat("x", 1000) }
	many := maxNew/1000 + 1
	for name, page := range map[string]string{
		"elements":  strings.Repeat("<img src=a>", many),
		"a list":    `<a ping="` + strings.Repeat("a ", many) + `">`,
		"srcset":    `<img srcset="` + strings.Repeat("a, ", many) + `">`,
		"style":     "<style>" + strings.Repeat("a{b:url(c)}", many) + "</style>",
		"animation": `<svg><set attributeName=href values="` + strings.Repeat("a;", many) + `">`,
		"documents": `<iframe srcdoc="` + strings.Repeat("<a href=b>", many) + `"></iframe>`,
		"addresses": strings.Repeat("<a href=b>", maxAddresses+1),
	} {
		to := long
		if name == "addresses" {
			to = short
		}
		if err := HTML(t.Context(), io.Discard, strings.NewReader(page), address(t), to); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := CSS(t.Context(), strings.Repeat("a{b:url(c)}", many), address(t), long); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := HTML(ctx, io.Discard, strings.NewReader("<p>"), address(t), short); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := CSS(ctx, "a{}", address(t), short); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLongBase checks that a BASE element with a very long address is ignored.
func TestLongBase(t *testing.T) {
	far := "http://far.example/" + strings.Repeat("d/", maxBase/2)
	var got []string
	to := func(address string, _ Kind) string {
		got = append(got, address)
		return "/x"
	}
	if err := HTML(t.Context(), io.Discard, strings.NewReader("<base href="+far+"><a href=b>"), address(t),
		to); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || strings.Contains(got[0], "far.example") {
		t.Errorf("%.200q", got)
	}
}
