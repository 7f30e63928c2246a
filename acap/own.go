package acap

// Own holds what one resource says of itself, as raw text: META tags of the head, robots headers of
// the response, class tokens of elements (P2 2.2), and the licence in an image (P1 2.5.3.1,
// plus-terms). It is plain data, so that it can be stored with the resource (P1 2.5.3.1, H11: the
// policy of today decides on it).
type Own struct {
	URL   string // the URL of the resource, after redirects (P2 2.2.9.1, M05)
	Tags  []Tag  `json:",omitempty"`
	Marks []Mark `json:",omitempty"`
	Plus  *Plus  `json:",omitempty"` // of an image, nil where it holds no licence terms

	// Tangled is a mark inside so many others that it is not evaluated; nil if there is none. A
	// page with such a mark may not be crawled.
	Tangled *Mark `json:",omitempty"`

	// Unread is why the statements of the page are unknown, "" if they are known. A page with
	// unknown statements is not used for anything.
	Unread string `json:",omitempty"`
}

// Tag is one META tag of the head (Source Meta), or one line of an X-Robots-Tag or Robots-Tag
// header (Source Header).
type Tag struct {
	Source  Source
	Name    string // META name, or the header's name
	Content string
	Line    int // where Content begins; for a header, the number of the field line
	Column  int // from 1, in characters; for a header it is 1
	// the page writes Content with character references, for instance: Line and Column are those of
	// the tag
	Loose bool `json:",omitempty"`
}

// Mark is one class token of an element that starts with "the-acap:" or "acap:" (P2 2.2.5), or its
// id, if that is one of Fragments.
type Mark struct {
	Token   string // the class token, or "#" and the id
	Line    int    // where the token begins, or its tag if the page writes the token with character references
	Column  int
	Place   Place
	Element int // the element's number in the page: marks of one element share it (P2 2.2.5, X13)
}

// Place is the kind of element that a mark is on (P2 2.2.5, N27).
type Place string

// Marks on HTML and in the head speak for the page, others for their element; that of BODY is the
// whole body.
const (
	OnElement Place = ""
	OnHead    Place = "head"
)
