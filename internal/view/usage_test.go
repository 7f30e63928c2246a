package view

import (
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
)

// TestWords checks the words for states, reasons and permissions that are stored as codes.
func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{stateWords(actions.Seen), "waiting for confirmation"},
		{stateWords(actions.Due), "waiting for execution"},
		{stateWords(actions.Failed), "failed (will be tried again)"},
		{stateWords(actions.Done), "done"},
		{SkippedAddress{Reason: "refused"}.ReasonWords(), "Refused"},
		{SkippedAddress{Reason: "unreachable"}.ReasonWords(), "Policy not readable"},
		{SkippedAddress{Reason: "failed"}.ReasonWords(), "Failed"},
		{SkippedAddress{Reason: "out-of-scope"}.ReasonWords(), "Out of scope"},
		{SkippedAddress{Reason: "too-deep"}.ReasonWords(), "Too deep"},
		{SkippedAddress{Reason: "trap"}.ReasonWords(), "Crawler trap"},
		{permission(acap.Decision{Allowed: true, Reason: acap.ByDefault}),
			"the publisher's policy says nothing about this use, so it is permitted"},
		{permission(acap.Decision{Allowed: true, Reason: acap.ByPermission}), "permitted by"},
		{useWords(acap.TrainAI), "training of models"},
		{useWords(acap.AIUse), "input of models"},
		{useWords(acap.AIIndex), "index for models"},
		{useWords(acap.TDM), "text and data mining"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
