package view

import (
	"context"
	"html/template"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// Presenter returns what may be shown of archived pages; *present.Presenter implements it. Nothing of an
// archived page reaches a reader in another way. Methods must be safe for concurrent use.
type Presenter interface {
	Search(ctx context.Context, q present.Query, who present.Reader) (present.Found, error)
	Versions(ctx context.Context, address string, who present.Reader) ([]present.Version, present.State, error)
	Around(ctx context.Context, address string, at time.Time, who present.Reader) ([]present.Version, present.State,
		error)
	Open(ctx context.Context, address string, v present.Version, who present.Reader) (present.Copy, error)
	Thumbnail(ctx context.Context, address string, which present.Which, who present.Reader) (present.Thumbnail, error)
	Copy(ctx context.Context, address string, which present.Which, who present.Reader) (present.Copy, error)
	SentCopy(ctx context.Context, address string, which present.Which, who present.Reader) (present.Copy, error)
	Snippet(ctx context.Context, address, query string, which present.Which, who present.Reader) (present.Passage,
		error)
	Original(ctx context.Context, address string, who present.Reader) (present.Lead, error)
	List(ctx context.Context, l present.Listing, who present.Reader) iter.Seq2[present.Version, error]
	Listed(ctx context.Context, address string, who present.Reader) (listed bool, until time.Time, err error)
	State(ctx context.Context, address string, refused acap.Decision, who present.Reader) (present.State, error)
}

// Options configure a Handler.
type Options struct {
	Presenter Presenter
	Explainer Explainer // nil: /explain answers 404
	// PolicyRead returns when the policy in the document at address was last read. It is called
	// concurrently. nil: unknown.
	PolicyRead func(address string) time.Time
	Sites      Sites // nil: there are no pages of sites
	// Vocabularies are the newer vocabularies in which policies are read.
	Vocabularies []acap.Vocabulary
	// Refuses reports whether the terms refuse a reader a page, archived or not. It is called concurrently, for
	// requests of a process of a cluster (Visitor.Shard); nil: nothing is refused.
	Refuses func(ctx context.Context, address string, who present.Reader) bool
	// Totals returns counts and sizes of the whole archive. It is called concurrently. nil: there are none.
	Totals func(ctx context.Context) (present.Totals, error)
	Failed func(error)      // called for errors of the archive, possibly concurrently; may be nil
	Now    func() time.Time // nil: time.Now
}

// Handler answers readers. It may be used concurrently.
type Handler struct {
	o         Options
	templates map[string]*template.Template // keyed by file name
	assets    map[string]asset              // keyed by path
	document  *document
	scans     *turns // of requests that may read much of the archive
	heavy     *turns // of requests that take long for other reasons
	exact     map[string]route
	prefixes  []route
	changes   comparer

	explaining *turns // of requests for explanations
}

// route is how requests for one path, or for all paths with one prefix, are answered.
type route struct {
	prefix string // for routes of prefixes
	get    answer // nil: GET is not allowed
	post   answer // nil: POST is not allowed
	api    bool   // problems are answered as JSON
	copies bool   // problems may appear in the frame of the viewer
}

// answer writes the answer to a request. If it returns an error, it must not have written anything.
type answer func(w http.ResponseWriter, r *request) error

// request is a request with its parts.
type request struct {
	*http.Request
	visitor Visitor
	query   url.Values
	rest    string // what follows the prefix of the route, byte for byte, with the query
	api     bool
	copies  bool
}

// New returns a Handler. It returns an error if an embedded template, asset or the OpenAPI document is invalid.
func New(o Options) (*Handler, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Handler{o: o, scans: newTurns(mostScans), heavy: newTurns(mostHeavy), explaining: newTurns(maxExplaining)}
	var err error
	if h.templates, err = readTemplates(); err != nil {
		return nil, err
	}
	if h.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if h.document, err = readDocument(); err != nil {
		return nil, err
	}
	h.exact = map[string]route{
		"/":         {get: h.home},
		"/search":   {get: h.search},
		"/versions": {get: h.findVersions},
		"/compare":  {get: h.findComparison},
		"/sites":    {get: h.sites},
		"/cdx":      {get: h.cdx, api: true},
		"/explain":  {get: h.explainStored, post: h.explainPasted},
	}
	maps.Copy(h.exact, h.apiRoutes())
	maps.Copy(h.exact, map[string]route{
		"/feed.atom":      {get: h.feed},
		"/opensearch.xml": {get: h.openSearch},
		"/robots.txt":     {get: h.robots},
	})
	h.prefixes = []route{
		{prefix: "/versions/", get: h.versions},
		{prefix: "/sites/", get: h.site},
		{prefix: "/timegate/", get: h.timeGate},
		{prefix: "/timemap/link/", get: h.timeMap(memento.AsLinks)},
		{prefix: "/timemap/json/", get: h.timeMap(memento.AsJSON)},
		{prefix: "/copy/", get: h.viewer},
		{prefix: "/raw/", get: h.raw, copies: true},
		{prefix: "/thumbnail/", get: h.thumbnail},
		{prefix: "/compare/", get: h.compare},
		{prefix: "/assets/", get: h.asset},
	}
	return h, nil
}

// Routes returns the paths that h answers, in order; those with a slash at the end are prefixes of paths.
func (h *Handler) Routes() []string {
	list := slices.Collect(maps.Keys(h.exact))
	for _, at := range h.prefixes {
		list = append(list, at.prefix)
	}
	slices.Sort(list)
	return list
}

// ServeHTTP answers a request. It finds the route in the request target as it was sent, because a path may
// contain an address, whose slashes and escapes must not change.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &request{Request: r, visitor: VisitorOf(r.Context())}
	setCommon(w.Header())
	at, ok := route{get: h.replay, copies: true}, true
	if req.visitor.Label == "" {
		at, ok = h.find(req)
	}
	req.api, req.copies = at.api, at.copies
	if err := h.answer(w, req, at, ok); err != nil {
		h.writeProblem(w, req, h.problemOf(err))
	}
}

// Refuse answers a request with a problem, in the form of the answers to such requests.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, p *Problem) {
	req := &request{Request: r, visitor: VisitorOf(r.Context())}
	at, _ := h.find(req)
	req.api, req.copies = at.api, at.copies
	h.writeProblem(w, req, p)
}

// find returns the route of a request, and sets the parts of the request that depend on the route.
func (h *Handler) find(r *request) (route, bool) {
	sent := r.RequestURI
	path, query, _ := strings.Cut(sent, "?")
	if at, ok := h.exact[path]; ok {
		var err error
		if r.query, err = url.ParseQuery(query); err != nil {
			at.get = func(http.ResponseWriter, *request) error { return badQuery() }
		}
		return at, true
	}
	for _, at := range h.prefixes {
		if rest, ok := strings.CutPrefix(sent, at.prefix); ok {
			r.rest = rest
			return at, true
		}
	}
	return route{api: strings.HasPrefix(sent, "/api/")}, false
}

// noPage returns the problem for a path that does not exist.
func noPage() *Problem {
	return &Problem{Status: http.StatusNotFound, Code: "no-page", Title: "There is no such page",
		Detail: "The address leads to no page of this archive."}
}

func (h *Handler) answer(w http.ResponseWriter, r *request, at route, found bool) error {
	if !found {
		return noPage()
	}
	fn, allow := at.get, "GET, HEAD"
	switch {
	case at.get == nil:
		allow = "POST"
	case at.post != nil:
		allow += ", POST"
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		fn = at.post
	default:
		fn = nil
	}
	if fn == nil {
		return &Problem{Status: http.StatusMethodNotAllowed, Code: "method", Allow: allow,
			Title: "This method is not allowed here", Detail: "Use " + strings.ReplaceAll(allow, ", ", " or ") + "."}
	}
	return fn(w, r)
}
