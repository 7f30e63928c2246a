package view

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
)

// usageWords says in plain words what a crawler does with a page under a usage.
func usageWords(u acap.Usage) string {
	return map[acap.Usage]string{
		acap.Crawl:               "fetch the page",
		acap.Follow:              "follow its links",
		acap.Index:               "put it into a search index",
		acap.Preserve:            "keep a copy",
		acap.Present:             "show anything of it",
		acap.PresentOriginal:     "show the page as its site sends it then",
		acap.PresentCurrentCopy:  "show the newest copy",
		acap.PresentOldCopy:      "show an older copy",
		acap.PresentSnippet:      "show a snippet of it",
		acap.PresentThumbnail:    "show a thumbnail of it",
		acap.PresentOldSnippet:   "show a snippet of an older copy",
		acap.PresentOldThumbnail: "show a thumbnail of an older copy",
		acap.PresentLink:         "show a link to it",
		acap.Other:               "any other use",
		acap.TrainAI:             "train AI models with it",
		acap.AIUse:               "give it to AI models as input",
		acap.AIIndex:             "index it for AI models",
		acap.TDM:                 "text and data mining",
	}[u]
}

// useWords names a usage of a newer vocabulary.
func useWords(u acap.Usage) string {
	switch u {
	case acap.TrainAI:
		return "training of models"
	case acap.AIUse:
		return "input of models"
	case acap.AIIndex:
		return "index for models"
	case acap.TDM:
		return "text and data mining"
	}
	return string(u)
}

// saidOf returns the verdict of a vocabulary in words, and its class of the style sheet.
func saidOf(v acap.Verdict) (answer, class string) {
	switch v {
	case acap.Permits:
		return "allowed", "yes"
	case acap.Prohibits:
		return "refused", "no"
	case acap.Agreement:
		return "needs an agreement", "maybe"
	}
	return "unknown", "maybe"
}

// stateWords returns the state of a publisher's request in words.
func stateWords(s actions.State) string {
	switch s {
	case actions.Seen:
		return "waiting for confirmation"
	case actions.Due:
		return "waiting for execution"
	case actions.Failed:
		return "failed (will be tried again)"
	}
	return string(s)
}

// ReasonWords returns the reason in words.
func (s SkippedAddress) ReasonWords() string {
	switch s.Reason { // the names of package crawler
	case "refused":
		return "Refused"
	case "unreachable":
		return "Policy not readable"
	case "failed":
		return "Failed"
	case "out-of-scope":
		return "Out of scope"
	case "too-deep":
		return "Too deep"
	case "trap":
		return "Crawler trap"
	}
	return s.Reason
}

// permission returns what permits a usage, as a clause.
func permission(d acap.Decision) string {
	if d.Allowed && d.Reason == acap.ByDefault {
		return "the publisher's policy says nothing about this use, so it is permitted"
	}
	return d.Why()
}
