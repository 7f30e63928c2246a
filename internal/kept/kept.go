// Package kept defines what is stored for a page so that it can be presented later without a
// request. Package archive stores it; package terms creates it and answers from it.
package kept

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Page is what is stored for a page in addition to its copy, or instead of it if the page may not
// be preserved: a title, excerpts no longer than a snippet, and the parts that must be shown with
// them. It records which resources each item was made from. An item is shown only if today's policy
// permits to make the item from these resources (H11: today's policy decides about stored pages).
type Page struct {
	Title string `json:"title,omitempty"` // set only if no copy is stored
	// Texts holds, by usage, the excerpts that cannot be made from a stored copy.
	Texts map[acap.Usage]Text `json:"texts,omitempty"`
	Index string              `json:"index,omitempty"` // source of the index entry, as in terms.Content.From
	// marks whose elements are treated differently from the page in the index entry, as listed by
	// terms.Aside
	Aside []string `json:"aside,omitempty"`
	// Picture is the must-use-resource that the thumbnail was made from, if that is another
	// resource.
	Picture string `json:"picture,omitempty"`
	// Drawing is nil if the thumbnail was not drawn from the page itself.
	Drawing *Drawing `json:"drawing,omitempty"`
	// digest: equal for index entries with the same title and text
	Same string `json:"same,omitempty"`
	// parts that must be shown, keyed by the value of their must-include-resource
	Parts map[string]snippet.Include `json:"included,omitempty"`
	// Clear lists the keys of Parts whose text lies outside all marks of the page.
	Clear []string `json:"clear,omitempty"`

	// Of holds the addresses of other resources that Texts, Parts, the thumbnail and the index
	// entry were made from. The key is the value in the policy that names the resource; the list is
	// the named address, then the redirects from it.
	Of map[string][]string `json:"of,omitempty"`
}

// Text is an excerpt of a page, or of the resource that must be used in its place.
type Text struct {
	Text string `json:"text,omitempty"`
	From string `json:"from,omitempty"` // source, as in terms.Content.From
	// marks whose elements are treated differently from the page, as listed by terms.Aside
	Aside []string `json:"aside,omitempty"`
}

// Drawing records how a thumbnail was drawn from the page itself.
type Drawing struct {
	// marks whose elements are treated differently from the page, as listed by terms.Aside
	Aside []string `json:"aside,omitempty"`
	Part  bool     `json:"part,omitempty"` // whether a part of the page was left out
}

// These keys of Page.Of are for the thumbnail. No policy can contain them as the name of a
// resource.
const (
	Thumbnail   = "the-acap:thumbnail"
	DrawnImages = "the-acap:drawn:images"
	DrawnSheets = "the-acap:drawn:sheets"
)

// These keys of Page.Of are for the resources from which the rendered documents of the page were made.
const (
	Scripts = "the-acap:scripts" // the scripts, and the data that they requested
	Data    = "the-acap:data"    // only the data
)

// MadeByScripts reports whether scripts made a rendered document of the page from the resource at address.
func (k Page) MadeByScripts(address string) bool { return slices.Contains(k.Of[Scripts], address) }

// AddMade records that scripts at the addresses ran made a rendered document of the page from the data at the
// addresses made.
func (k *Page) AddMade(made, ran []string) {
	for value, addresses := range map[string][]string{Data: made, Scripts: slices.Concat(made, ran)} {
		if len(addresses) > 0 {
			all := slices.Concat(k.Of[value], addresses)
			slices.Sort(all)
			k.SetSource(value, slices.Compact(all))
		}
	}
}

// OfThumbnail reports whether value is a key of Page.Of for the thumbnail.
func OfThumbnail(value string) bool {
	return value == Thumbnail || value == DrawnImages || value == DrawnSheets
}

// Empty reports whether nothing is stored.
func (k Page) Empty() bool {
	return k.Title == "" && len(k.Texts) == 0 && k.Index == "" && len(k.Aside) == 0 && k.Picture == "" &&
		k.Drawing == nil && k.Same == "" &&
		len(k.Parts) == 0 && len(k.Clear) == 0 && len(k.Of) == 0
}

// String returns k as JSON; "" if k is empty.
func (k Page) String() string {
	if k.Empty() {
		return ""
	}
	data, err := json.Marshal(k)
	if err != nil { // impossible: k contains only strings, and maps and lists of strings
		panic(err)
	}
	return string(data)
}

// Digest returns a digest of k: equal digests mean equal content. It is "" if k is empty.
func (k Page) Digest() string {
	text := k.String()
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// Clone returns a copy of k whose maps can be changed without changing k.
func (k Page) Clone() Page {
	k.Texts, k.Parts, k.Of = maps.Clone(k.Texts), maps.Clone(k.Parts), maps.Clone(k.Of)
	return k
}

// SetText stores an excerpt for a usage.
func (k *Page) SetText(u acap.Usage, text Text) {
	if k.Texts == nil {
		k.Texts = map[acap.Usage]Text{}
	}
	k.Texts[u] = text
}

// SetPart stores the part that is required by a must-include-resource with this value.
func (k *Page) SetPart(value string, part snippet.Include) {
	if k.Parts == nil {
		k.Parts = map[string]snippet.Include{}
	}
	k.Parts[value] = part
}

// SetSource stores the addresses of the resource that value names.
func (k *Page) SetSource(value string, addresses []string) {
	if k.Of == nil {
		k.Of = map[string][]string{}
	}
	k.Of[value] = addresses
}

// Sources returns the addresses of all other resources that k was made from, sorted.
func (k Page) Sources() (list []string) {
	for _, addresses := range k.Of {
		list = append(list, addresses...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Requires lists the resources that k was made from because they must be used or included. For each
// it returns the address in the policy, then the redirects from it.
func (k Page) Requires() (list [][]string) {
	for value, addresses := range k.Of {
		if value != DrawnImages && value != DrawnSheets && value != Scripts && value != Data &&
			len(addresses) > 0 {
			list = append(list, addresses)
		}
	}
	return list
}

// Uses reports whether k contains data for u that was made from the resource that value names. For
// the usage index, this is the index entry; for others, an excerpt. For the usage present, an
// excerpt for any usage or the thumbnail is enough.
func (k Page) Uses(value string, u acap.Usage) bool {
	if u == acap.Index {
		return k.Index == value
	}
	if _, made := k.Pictured(value); made && u == acap.Present {
		return true
	}
	for of, text := range k.Texts {
		if text.From == value && (of == u || u == acap.Present) {
			return true
		}
	}
	return false
}

// Without returns k without everything made from the resource at address, except rendered documents, which cannot
// be separated from the page. changed reports whether anything was removed; entry reports whether the index entry
// was made from the resource.
func (k Page) Without(address string) (less Page, changed, entry bool) {
	less = k.Clone()
	for value, addresses := range k.Of {
		if value == Scripts || value == Data || !slices.Contains(addresses, address) {
			continue
		}
		changed = true
		delete(less.Of, value)
		delete(less.Parts, value)
		switch value {
		case Thumbnail:
			less.Picture = ""
		case DrawnImages, DrawnSheets:
			less = less.WithoutPicture()
		}
		maps.DeleteFunc(less.Texts, func(_ acap.Usage, text Text) bool { return text.From == value })
		if value == k.Index {
			less.Index, less.Aside, less.Same, entry = "", nil, "", true
		}
	}
	return less, changed, entry
}

// Shows reports whether k and other describe the same thumbnail.
func (k Page) Shows(other Page) bool {
	return k.Picture == other.Picture && (k.Drawing == nil) == (other.Drawing == nil)
}

// SetPicture records that the thumbnail was made from the resource that value names. addresses are
// its address and the redirects from it.
func (k *Page) SetPicture(value string, addresses []string) {
	k.Picture = value
	k.SetSource(Thumbnail, addresses)
}

// Pictured returns the address of the other resource that the thumbnail was made from. made is
// false if the thumbnail was not made from the resource that value names.
func (k Page) Pictured(value string) (address string, made bool) {
	if of := k.Of[Thumbnail]; k.Picture == value && len(of) > 0 {
		return of[0], true
	}
	return "", false
}

// DrawnWith reports whether the resource at address is an image or style sheet of the drawn
// thumbnail.
func (k Page) DrawnWith(address string) bool {
	return slices.Contains(k.Of[DrawnImages], address) || slices.Contains(k.Of[DrawnSheets], address)
}

// WithoutPicture returns k without the fields that describe the thumbnail.
func (k Page) WithoutPicture() Page {
	k.Picture, k.Drawing, k.Of = "", nil, maps.Clone(k.Of)
	maps.DeleteFunc(k.Of, func(value string, _ []string) bool { return OfThumbnail(value) })
	return k
}

// WithPicture returns k with the fields of other that describe the thumbnail.
func (k Page) WithPicture(other Page) Page {
	k = k.WithoutPicture()
	k.Picture, k.Drawing = other.Picture, other.Drawing
	for value, addresses := range other.Of {
		if OfThumbnail(value) {
			k.SetSource(value, addresses)
		}
	}
	return k
}
