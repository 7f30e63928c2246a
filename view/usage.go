package view

import "github.com/acapcrawl/acapcrawl/acap"

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
		acap.PresentSnippet:      "show an excerpt",
		acap.PresentThumbnail:    "show a small picture of it",
		acap.PresentOldSnippet:   "show an excerpt of an older copy",
		acap.PresentOldThumbnail: "show a small picture of an older copy",
		acap.PresentLink:         "show a link to it",
		acap.Other:               "any other use",
		acap.TrainAI:             "train AI models with it",
		acap.AIUse:               "give it to AI models as input",
		acap.AIIndex:             "index it for AI models",
		acap.TDM:                 "text and data mining",
	}[u]
}

// saidWords returns the verdict of a vocabulary in words.
func saidWords(v acap.Verdict) string {
	switch v {
	case acap.Permits:
		return "allowed"
	case acap.Prohibits:
		return "refused"
	case acap.Agreement:
		return "needs an agreement"
	}
	return "unknown"
}
