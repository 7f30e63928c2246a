package acap

// Own holds the statements that one resource makes about itself, as raw text: META tags of the
// head, robots headers of the response, class tokens of elements (P2 2.2), and the licence in an
// image (P1 2.5.3.1, plus-terms). It is plain data, so that it can be stored with the resource (P1
// 2.5.3.1, H11: the current policy decides, not that of the time of crawling).
type Own struct {
	URL   string // the URL of the resource, after redirects (P2 2.2.9.1, M05)
	Tags  []Tag  `json:",omitempty"`
	Marks []Mark `json:",omitempty"`
	Plus  *Plus  `json:",omitempty"` // the licence terms of an image; nil if there are none
	Image bool   `json:",omitempty"` // the resource is an image

	Licences []Licence `json:",omitempty"` // associations with licence documents

	// Then holds the statements of an earlier version of the resource at its own fetch. It is nil if
	// these are the same statements. It is not stored.
	Then *Own `json:"-"`

	// Scripted holds the statements that the page makes after its scripts ran. It is nil if the page
	// was not rendered, or if its scripts changed no statement. The other fields then hold the
	// statements of the page as sent. Scripted only restricts: a usage must be permitted by both.
	Scripted *Own `json:",omitempty"`

	// Tangled is a mark inside so many other marks that it is not evaluated. It is nil if there is
	// none. A page with such a mark may not be crawled.
	Tangled *Mark `json:",omitempty"`

	// Unread is the reason why the statements of the page are unknown. It is "" if the statements
	// are known. A page with unknown statements is not used for anything.
	Unread string `json:",omitempty"`
}

// Tag is one META tag of the head (Source Meta), or one line of a header with rules for crawlers
// (Source Header): X-Robots-Tag, Robots-Tag, or a header of a newer vocabulary.
type Tag struct {
	Source  Source
	Name    string // the META name, or the name of the header
	Content string
	Line    int // the line on which Content begins; for a header, the number of the header line
	Column  int // counted from 1, in characters; 1 for a header
	// true if Content cannot be located exactly, for example because the page uses character
	// references: Line and Column are those of the tag
	Loose bool `json:",omitempty"`
}

// Mark is a statement on an element of a page: a class token that starts with "the-acap:" or
// "acap:" (P2 2.2.5), or an id that a META tag names (see Fragments).
type Mark struct {
	Token string // the class token, or "#" followed by the id
	// the line on which the token begins; if the page writes the token with character references,
	// the line of its tag
	Line    int
	Column  int
	Place   Place
	Element int // the number of the element in the page; marks on one element have the same number (P2 2.2.5, X13)
}

// Place is the kind of element on which a mark is (P2 2.2.5, N27).
type Place string

// The places of marks. A mark on the HTML element or in the head is about the page; a mark on the
// BODY element is about the whole body; any other mark is about its element.
const (
	OnElement Place = ""
	OnHead    Place = "head"
)
