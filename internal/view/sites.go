package view

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/policy"
)

// Sites returns what is known of the sites of an archive. If full is set, the result is for the
// operator. Otherwise it is for everybody: addresses to which not every reader may see a link are
// neither listed nor counted. Methods may be called concurrently.
type Sites interface {
	// Sites returns at most limit origins whose keys come after the key after, in order. more
	// reports that there are further origins.
	Sites(ctx context.Context, after string, limit int, full bool) (list []Site, more bool, err error)
	// Host returns the origins of a host, which is in normal form, with its port unless that is the
	// default. The list is empty if nothing is known of the host.
	Host(ctx context.Context, host string, full bool) ([]SiteDetail, error)
	// Totals returns counts of the whole archive and its queue. They include all addresses, so only
	// the operator may see them.
	Totals() (Totals, error)
	// Crawl returns the state of the crawl that runs in this process; nil if none runs.
	Crawl() *Crawl
}

// Site is what is known of one origin.
type Site struct {
	Origin string      `json:"origin"` // scheme, host, and port unless it is the default
	Host   string      `json:"host"`   // host, and port unless it is the default
	Policy SitePolicy  `json:"policy"`
	Pace   *SitePace   `json:"pace,omitempty"`   // nil: nothing is queued or known for the host
	Counts *SiteCounts `json:"counts,omitempty"` // nil: not counted yet
}

// SitePolicy is the state of the robots.txt of an origin.
type SitePolicy struct {
	Status policy.Status `json:"status"`             // result of the last attempt to read it
	Why    string        `json:"why,omitempty"`      // why it could not be read
	Tried  time.Time     `json:"tried,omitzero"`     // when it was last requested
	Read   time.Time     `json:"read,omitzero"`      // when it was last read
	Since  time.Time     `json:"since,omitzero"`     // when the version in force was first read
	Next   time.Time     `json:"next_read,omitzero"` // when it must be read again
}

// SitePace is how fast a host is requested. Both origins of a host, http and https, share it.
type SitePace struct {
	CrawlDelay float64   `json:"crawl_delay_s"`       // Crawl-delay in seconds; 0: none
	Observed   float64   `json:"observed_delay_s"`    // delay derived from response times, in seconds; 0: none yet
	Failures   int       `json:"failures"`            // number of failures in a row
	Due        time.Time `json:"next_visit,omitzero"` // when the next queued address is due; zero: none is queued
}

// SiteCounts counts the addresses of an origin.
type SiteCounts struct {
	Pages       int       `json:"pages"` // archived or indexed pages
	Queued      int       `json:"queued"`
	Refused     int       `json:"refused"`     // not requested, or not used, because of a policy
	Unreachable int       `json:"unreachable"` // refused because the policy could not be read
	Failed      int       `json:"failed"`      // no usable answer after all retries
	Outside     int       `json:"out-of-scope"`
	Deep        int       `json:"too-deep"`
	Trapped     int       `json:"trap"`
	LastVisit   time.Time `json:"last_visit,omitzero"`
	Again       time.Time `json:"next_revisit,omitzero"` // when the first page is due to be visited again
	Counted     time.Time `json:"counted"`               // when the counts were made
}

// SiteDetail is a Site with its policy files, requests and skipped addresses.
type SiteDetail struct {
	Site
	Versions []SiteVersion    `json:"versions"` // oldest first
	Requests []SiteRequest    `json:"requests"`
	Skipped  []SkippedAddress `json:"skipped"` // the first ones, in order of address
	More     bool             `json:"more_skipped"`
}

// SiteVersion is one version of the policy files of an origin.
type SiteVersion struct {
	Since   time.Time      `json:"since"`  // when it was first read
	Status  policy.Status  `json:"status"` // none: there was no robots.txt
	Digest  string         `json:"sha256"` // of robots.txt
	Bytes   int64          `json:"bytes"`  // of robots.txt
	Version policy.Version `json:"-"`
}

// SiteRequest is a request of the publisher in robots.txt or in a file that it refers to.
type SiteRequest struct {
	Action string `json:"action"` // "take-down" or "re-crawl"
	URL    string `json:"url"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Text   string `json:"text"`            // the line
	State  string `json:"state,omitempty"` // in the ledger; empty: not recorded yet
	ID     uint64 `json:"id,omitempty"`    // in the ledger; 0: not recorded yet
	Why    string `json:"why,omitempty"`   // why it is not executed
}

// SkippedAddress is an address that was not fetched, or a number of such addresses with the same reason and line.
type SkippedAddress struct {
	URL    string    `json:"url,omitempty"`
	Count  int       `json:"count,omitempty"` // number of addresses, if URL is empty
	Reason string    `json:"reason"`          // refused, unreachable, failed, out-of-scope, too-deep or trap
	Why    string    `json:"why"`             // one sentence
	When   time.Time `json:"when,omitzero"`
	// the line of today's policy that prohibits the visit, or the visit of the address that it redirects to;
	// empty if there is none
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"`
}

// Totals counts everything that is stored.
type Totals struct {
	Pages    int   `json:"pages"` // pages about which anything is stored
	Versions int   `json:"versions"`
	Bytes    int64 `json:"bytes"` // of all versions, decoded
	Queued   int   `json:"queued"`
	Hosts    int   `json:"queued_hosts"`
	Refused  int   `json:"refused"`
	Failed   int   `json:"failed"`
	Trapped  int   `json:"trap"`
}

// Crawl is the progress of a running crawl. Its counts include all addresses, so only the operator
// may see them.
type Crawl struct {
	Began    time.Time `json:"began"`
	Done     int       `json:"done"`
	Fetched  int       `json:"fetched"`
	Stored   int       `json:"stored"`
	Indexed  int       `json:"indexed"`
	Refused  int       `json:"refused"`
	Errors   int       `json:"errors"`
	UnderWay int       `json:"under_way"`
	Queued   int       `json:"queued"`
	Hosts    int       `json:"queued_hosts"`
	Bytes    int64     `json:"bytes"`
	Recent   float64   `json:"recent_pages_per_s"`
	NextDue  time.Time `json:"next_due,omitzero"`
}

const (
	sitesPerPage = 200
	sitesAtHome  = 10
)

// sitesPage is a page of the list of sites.
type sitesPage struct {
	Sites  []listedSite
	Next   string // path of the next page; empty: none
	First  bool
	Totals *Totals // for the operator
	Crawl  *Crawl
	Full   bool
}

// listedSite is a site in the list.
type listedSite struct {
	Site
	Visit dueTime
}

// sites lists the sites of the archive.
func (h *Handler) sites(w http.ResponseWriter, r *request) error {
	if h.o.Sites == nil {
		return noPage()
	}
	after := r.query.Get("after")
	if len(after) > maxKey {
		return badRequest("The parameter after must be the key of an origin, such as https://example.org.")
	}
	out, err := h.readSites(r, after, sitesPerPage)
	if err != nil {
		return err
	}
	out.First = after == ""
	return h.show(w, r, "sites.html", "Sites", out)
}

// maxKey is the greatest length of the key of an origin: a scheme, a host name and a port.
const maxKey = 300

// readSites returns one page of the list of sites.
func (h *Handler) readSites(r *request, after string, limit int) (*sitesPage, error) {
	out := &sitesPage{Full: r.visitor.Role == Operator, Crawl: h.o.Sites.Crawl()}
	list, more, err := h.o.Sites.Sites(r.Context(), after, limit, out.Full)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		out.Sites = append(out.Sites, listedSite{one, one.nextVisit(h.o.Now())})
	}
	if n := len(out.Sites); more && n > 0 {
		out.Next = "/sites?after=" + url.QueryEscape(out.Sites[n-1].Origin)
	}
	if out.Full {
		totals, err := h.o.Sites.Totals()
		if err != nil {
			return nil, err
		}
		out.Totals = &totals
	}
	return out, nil
}

// Summary says how many pages of the listed sites are archived; "" while they are counted.
func (p *sitesPage) Summary() string {
	pages := 0
	for _, s := range p.Sites {
		if s.Counts == nil {
			return ""
		}
		pages += s.Counts.Pages
	}
	words := count(pages, "page") + " of " + count(len(p.Sites), "site") + " are archived."
	if p.Next != "" {
		return "More than " + words
	}
	return words
}

// home shows the search form and some of the sites.
func (h *Handler) home(w http.ResponseWriter, r *request) error {
	var sites *sitesPage
	if h.o.Sites != nil {
		var err error
		if sites, err = h.readSites(r, "", sitesAtHome); err != nil {
			return err
		}
	}
	return h.show(w, r, "home.html", "", sites)
}
