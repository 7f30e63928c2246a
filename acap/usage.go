package acap

import (
	"slices"
	"strings"
)

// Usage is one of the fourteen standard usage types (P1 2.5), spelled as in the protocol, or one of
// the four newer usages.
type Usage string

// The standard usage types (P1 2.5).
const (
	Crawl               Usage = "crawl"
	Follow              Usage = "follow"
	Index               Usage = "index"
	Preserve            Usage = "preserve"
	Present             Usage = "present"
	PresentOriginal     Usage = "present-original"
	PresentCurrentCopy  Usage = "present-currentcopy"
	PresentOldCopy      Usage = "present-oldcopy"
	PresentSnippet      Usage = "present-snippet"
	PresentThumbnail    Usage = "present-thumbnail"
	PresentOldSnippet   Usage = "present-oldsnippet"
	PresentOldThumbnail Usage = "present-oldthumbnail"
	PresentLink         Usage = "present-link"
	Other               Usage = "other"
)

// The newer usages, which vocabularies after ACAP distinguish. For ACAP they belong to "other": only
// disallow-other says something about them (P1 2.5.6, F19).
const (
	TrainAI Usage = "train-ai" // changing the parameters of a model with the resource
	// giving the resource to a generative model as input: grounding, retrieval, summaries
	AIUse   Usage = "ai-use"
	AIIndex Usage = "ai-index" // keeping the resource in an index that serves models
	TDM     Usage = "tdm"      // automated analysis: text and data mining
)

// kind is the number of a usage type, which is its index in tables.
type kind uint8

const (
	kCrawl kind = iota
	kFollow
	kIndex
	kPreserve
	kPresent
	kOriginal
	kCurrentCopy
	kOldCopy
	kSnippet
	kThumbnail
	kOldSnippet
	kOldThumbnail
	kLink
	kOther
	kinds
	noKind kind = 0xff
)

// The numbers of the newer usages follow those of the standard usages. No field names them, so
// tables of fields end at kinds.
const (
	kTrainAI kind = iota + kinds
	kAIUse
	kAIIndex
	kTDM
	allKinds
)

// kindSet is a set of usage types.
type kindSet uint32

func setOf(ks ...kind) kindSet {
	var s kindSet
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k kind) bool { return k < allKinds && s&(1<<k) != 0 }

var usageNames = [kinds]Usage{Crawl, Follow, Index, Preserve, Present, PresentOriginal, PresentCurrentCopy,
	PresentOldCopy, PresentSnippet, PresentThumbnail, PresentOldSnippet, PresentOldThumbnail, PresentLink, Other}

var newerNames = [allKinds - kinds]Usage{TrainAI, AIUse, AIIndex, TDM}

// Usages returns the fourteen standard usage types in the order of P1 2.5.
func Usages() []Usage { return append([]Usage(nil), usageNames[:]...) }

// NewerUsages returns the four newer usages: train-ai, ai-use, ai-index and tdm.
func NewerUsages() []Usage { return append([]Usage(nil), newerNames[:]...) }

// Newer reports whether u is one of the four newer usages, written in lower case.
func (u Usage) Newer() bool { return slices.Contains(newerNames[:], u) }

// Standard reports whether u is one of the fourteen standard usage types, written in lower case.
func (u Usage) Standard() bool { return u.kind() != noKind }

// Presents reports whether u is present or a type based on it (P1 2.5.5.1).
func (u Usage) Presents() bool {
	return u == Present || strings.HasPrefix(string(u), "present-") && u.Standard()
}

func (u Usage) kind() kind {
	switch u {
	case Crawl:
		return kCrawl
	case Follow:
		return kFollow
	case Index:
		return kIndex
	case Preserve:
		return kPreserve
	case Present:
		return kPresent
	case PresentOriginal:
		return kOriginal
	case PresentCurrentCopy:
		return kCurrentCopy
	case PresentOldCopy:
		return kOldCopy
	case PresentSnippet:
		return kSnippet
	case PresentThumbnail:
		return kThumbnail
	case PresentOldSnippet:
		return kOldSnippet
	case PresentOldThumbnail:
		return kOldThumbnail
	case PresentLink:
		return kLink
	case Other:
		return kOther
	}
	return noKind
}

// anyKind returns the number of a standard or a newer usage, or noKind.
func (u Usage) anyKind() kind {
	k := u.kind()
	if k == noKind {
		if i := slices.Index(newerNames[:], u); i >= 0 {
			return kinds + kind(i)
		}
	}
	return k
}

func (k kind) usage() Usage {
	if k >= kinds {
		return newerNames[k-kinds]
	}
	return usageNames[k]
}

// basic returns the type that k is based on (P1 2.5.5.1): present, or k itself.
func (k kind) basic() kind {
	if k > kPresent && k < kOther {
		return kPresent
	}
	return k
}

// derived reports whether k is one of the eight types based on "present".
func (k kind) derived() bool { return k > kPresent && k < kOther }
