package acap

// Own is what one resource says of itself, as raw text: META tags of the head, robots headers of the response, class tokens on
// elements (P2 2.2), and the licence that an image embeds (P1 2.5.3.1, plus-terms). It is plain data, so that it can be kept with
// what is held (H11).
type Own struct {
	URL   string // where the resource was found, after redirects (M05)
	Tags  []Tag  `json:",omitempty"`
	Marks []Mark `json:",omitempty"`
	Plus  *Plus  `json:",omitempty"` // of an image, nil where it holds no licence terms

	// Tangled is a mark of an element with more marks around it than are judged; nil if there is
	// none. A page with such an element may not be crawled.
	Tangled *Mark `json:",omitempty"`

	// Unread says why the statements of the page are unknown; then the page is not used for
	// anything. "" if they are known.
	Unread string `json:",omitempty"`
}

// Tag is one META tag of the head (Source Meta), or one line of an X-Robots-Tag or Robots-Tag header (Source Header).
type Tag struct {
	Source  Source
	Name    string // META name, or the header's name
	Content string
	Line    int  // where Content begins; for a header, the number of the field line
	Column  int  // from 1, in characters; for a header it is 1
	Loose   bool `json:",omitempty"` // the source writes Content otherwise, with character references for instance: the place is the tag's
}

// Mark is one class token of an element that starts with "the-acap:" or "acap:" (P2 2.2.5), or its id, where one of Fragments.
type Mark struct {
	Token   string // the class token, or "#" and the id
	Line    int    // where the token begins; where the source writes it otherwise, where its tag does
	Column  int
	Place   Place
	Element int // the element's number in the page: marks of one element share it (X13)
}

// Place says what kind of element a mark stands on (N27).
type Place string

// Marks on HTML and in the head speak for the page, others for their element; that of BODY is the whole body.
const (
	OnElement Place = ""
	OnHead    Place = "head"
)
