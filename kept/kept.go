// Package kept is what is stored of a page so that it can be presented later without a request: the
// archive stores it, terms makes it and answers from it.
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

// Page is what is stored of a page beside its copy, or in its place if the page may not be
// preserved: a title, excerpts no longer than a snippet, and the parts that must be shown with
// them. It says of all of this what it was made of: it is shown only if it may be made of that by
// the policy of the day on which it is shown (H11: today's policy judges what is held).
type Page struct {
	Title string `json:"title,omitempty"` // if no copy is held
	// what cannot be cut from a copy, by the usage that it is for
	Texts map[acap.Usage]Text `json:"texts,omitempty"`
	Index string              `json:"index,omitempty"` // terms.Content.From of the index entry
	Aside []string            `json:"aside,omitempty"` // terms.Aside for the index entry
	// the must-use-resource that the thumbnail was made of, if that is another resource
	Picture string `json:"picture,omitempty"`
	// nil: the thumbnail was not drawn from the page itself
	Drawing *Drawing                   `json:"drawing,omitempty"`
	Same    string                     `json:"same,omitempty"`     // equal for index entries of the same title and text
	Parts   map[string]snippet.Include `json:"included,omitempty"` // by the value of their must-include-resource
	// those of Parts of which nothing is under a mark of the page
	Clear []string `json:"clear,omitempty"`

	// Addresses of other resources that Texts, Parts, the thumbnail and the index entry were made
	// of, by the value that names them: the address that is named, then the redirects from it.
	Of map[string][]string `json:"of,omitempty"`
}

// Text is an excerpt of a page, or of what must be used in its place.
type Text struct {
	Text  string   `json:"text,omitempty"`
	From  string   `json:"from,omitempty"`  // as terms.Content.From
	Aside []string `json:"aside,omitempty"` // as terms.Aside
}

// Drawing says how a thumbnail was drawn from the page itself.
type Drawing struct {
	Aside []string `json:"aside,omitempty"` // as terms.Aside
	Part  bool     `json:"part,omitempty"`  // something of the page was left out
}

// The keys of Page.Of for the thumbnail. No resource can be named so.
const (
	Thumbnail   = "the-acap:thumbnail"
	DrawnImages = "the-acap:drawn:images"
	DrawnSheets = "the-acap:drawn:sheets"
)

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
	if err != nil { // strings, and maps and lists of them, can always be encoded
		panic(err)
	}
	return string(data)
}

// Digest names the content of k: equal digests stand for equal content. It is "" if k is empty.
func (k Page) Digest() string {
	text := k.String()
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// Clone returns a copy whose maps can be changed.
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

// SetPart stores the part that a must-include-resource of this value names.
func (k *Page) SetPart(value string, part snippet.Include) {
	if k.Parts == nil {
		k.Parts = map[string]snippet.Include{}
	}
	k.Parts[value] = part
}

// SetSource notes the addresses of the resource that value names.
func (k *Page) SetSource(value string, addresses []string) {
	if k.Of == nil {
		k.Of = map[string][]string{}
	}
	k.Of[value] = addresses
}

// Sources returns the addresses of other resources that something of k was made of, sorted.
func (k Page) Sources() (list []string) {
	for _, addresses := range k.Of {
		list = append(list, addresses...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Requires lists the resources that k was made of because they must be used or included: of each
// the address that names it, and the redirects from there.
func (k Page) Requires() (list [][]string) {
	for value, addresses := range k.Of {
		if value != DrawnImages && value != DrawnSheets && len(addresses) > 0 {
			list = append(list, addresses)
		}
	}
	return list
}

// Uses reports whether what is stored for u was made of the resource that value names. For present,
// any form of it counts.
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

// Without returns k less what was made of the resource at address, whether that makes a difference,
// and whether the index entry was made of the resource.
func (k Page) Without(address string) (less Page, changed, entry bool) {
	less = k.Clone()
	for value, addresses := range k.Of {
		if !slices.Contains(addresses, address) {
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

// Shows reports whether k and other were stored with the same thumbnail.
func (k Page) Shows(other Page) bool {
	return k.Picture == other.Picture && (k.Drawing == nil) == (other.Drawing == nil)
}

// SetPicture notes that the thumbnail was made of the resource at the first of the addresses, which
// value names.
func (k *Page) SetPicture(value string, addresses []string) {
	k.Picture = value
	k.SetSource(Thumbnail, addresses)
}

// Pictured returns the address of the other resource that the thumbnail was made of, if value names
// that.
func (k Page) Pictured(value string) (address string, made bool) {
	if of := k.Of[Thumbnail]; k.Picture == value && len(of) > 0 {
		return of[0], true
	}
	return "", false
}

// DrawnWith reports whether the thumbnail was drawn with the resource at address.
func (k Page) DrawnWith(address string) bool {
	return slices.Contains(k.Of[DrawnImages], address) || slices.Contains(k.Of[DrawnSheets], address)
}

// WithoutPicture returns k for a page without a thumbnail of another resource.
func (k Page) WithoutPicture() Page {
	k.Picture, k.Drawing, k.Of = "", nil, maps.Clone(k.Of)
	maps.DeleteFunc(k.Of, func(value string, _ []string) bool { return OfThumbnail(value) })
	return k
}

// WithPicture returns k with what other says of the thumbnail.
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
