package config

import (
	"log/slog"
	"time"
)

// Config holds the settings in force for one run. It must not be changed after Load.
type Config struct {
	Data     string   // the data directory
	Crawler  []string // names of this crawler: it obeys rules for these user-agent tokens; see crawlerNames
	Purposes []string // purposes for which the crawler works; nil: undeclared; empty: the crawler has no purpose
	Cannot   []string // ACAP types that the crawler treats as unsupported (P1 2.4.3, P2 2.2.6)
	Policy   Policy
	// the newer vocabularies that the crawler obeys
	Preferences Preferences
	For         []string // newer usages that must be allowed on a page that is kept, indexed or shown
	Contact     string   // URL of the operator, sent in the User-Agent; "": no URL is sent

	// which addresses a crawl may visit, relative to the seeds: host, domain, prefix or any
	Scope          string
	Depth          int           // maximum number of links from a seed to a page; Unlimited: no limit
	MaxPages       int           // maximum number of page requests in a run; Unlimited: no limit
	MaxBytes       int64         // maximum number of body bytes received in a run; Unlimited: no limit
	MaxTime        time.Duration // time limit of a run; 0: no limit
	MinFree        int64         // a crawl stops if fewer bytes than this are free on the disk; may be AutoFree
	MaxHostURLs    int           // maximum number of addresses of one host in the queue; Unlimited: no limit
	Include        []string      // patterns of the addresses to visit; empty: all addresses
	Exclude        []string
	Requisites     bool          // fetch subresources of pages
	Canonical      bool          // skip a page whose canonical address was fetched
	DropParameters []string      // query parameters removed from links
	RecrawlMin     time.Duration // minimum time until a page is visited again; 0: pages are never visited again
	RecrawlMax     time.Duration
	Adaptive       bool // request less often if a host gets slower
	PerAddress     bool // the delay applies to all hosts with the same network address together
	Preserve       bool // archive pages
	Index          bool
	// during a crawl, maximum time from an erasure to the compaction that removes the data from the
	// files; 0: a crawl never compacts
	CompactWithin time.Duration
	// name of the file with the Ed25519 key that signs requests; "": requests are not signed
	SignatureKey   string
	SignatureAgent string
	// names of files with what identifies the operator to hosts; "": none
	Credentials, Cookies string
	KeepCredentials      bool          // keep what identifies the operator in the captures of requests
	Metrics              string        // address:port at which a crawl serves metrics; "": no metrics
	Delay                time.Duration // minimum time between the starts of two requests to a host
	Concurrency          int           // maximum number of concurrent requests
	PerHost              int           // maximum number of concurrent requests to one host; see Load for the default
	Render               Render
	Sitemaps             bool          // follow the sitemaps that robots.txt names
	AllowPrivate         bool          // follow links and redirects to loopback, private and link-local addresses
	Timeout              time.Duration // time limit for one request including its body
	MaxBody              int64         // maximum size of a body in bytes after decoding; the rest is cut off
	Memory               int64         // memory limit of the process in bytes; 0: depends on the memory of the machine

	SnippetLength   int    // P1 2.5.5.4 (J01): a length counts code points
	CountryDatabase string // name of the MaxMind database with the country of each network address; "": none
	Chromium        string // path of the Chromium program, which renders pages; "": pages are not rendered
	ChromiumSandbox bool
	ReaderDNS       bool // permit DNS lookups of the host names of a reader's address
	Check           Check
	Actions         Actions
	Listen          string // address:port at which the verb serve listens
	Serve           Serve
	S3              S3
	Cluster         Cluster
	LogLevel        slog.Level // messages with a lower level are not logged
	LogFormat       string     // LogText or LogJSON: the form of standard error

	Jobs []Job  // the jobs of the configuration file, by name
	Job  string // name of the job whose settings these are; "": none

	File    string  // name of the configuration file that was read; "": none
	in      Input   // the sources of these settings, with the content of the file
	own     *Config // the configuration that Sender returns; nil: this Config itself
	origins map[string]Origin
}

// Sender returns the configuration for sending requests: c itself, or, if a flag names another
// crawler, the configuration without that flag.
//
// P1 2.3.1 (X80): --crawler names the crawler whose permissions are evaluated; requests carry the
// configured name.
func (c *Config) Sender() *Config {
	if c.own != nil {
		return c.own
	}
	return c
}

// Policy holds settings for cases that the documents of ACAP leave open.
type Policy struct {
	Strict            bool   // use the stricter interpretation where a document of ACAP leaves a choice
	Dialect           string // Dialect11 or DialectPilot
	NoarchivePreserve bool   // P2 3 (N24): noarchive and nocache only prohibit showing copies, unless this is set
}

// Preferences holds the settings of the vocabularies that came after ACAP.
type Preferences struct {
	Vocabularies     []string // their names; empty: none
	TDMRepCoversAI   bool     // a reservation of TDMRep covers train-ai, ai-use and ai-index too
	ContentSignalUse bool     // obey the key use of Content-Signal
	OperatorKind     string   // what the operator is, in the words of RSL; "": not said
	OperatorCountry  string   // country of the operator, two letters in upper case; "": not said
}

// Actions holds the settings of action requests (P1 2.6).
type Actions struct {
	Mode          string        // ActionsDirect or ActionsConfirm
	ConfirmWithin time.Duration // in mode confirm, maximum time until robots.txt must contain the line for a request
	// how often robots.txt is read to find requests, 5 minutes to 24 hours; 0: only crawls read
	// robots.txt
	SeenWithin time.Duration
	// maximum time from a take-down to the compaction that removes the data from the files; 0:
	// compact at once
	EraseWithin   time.Duration
	RecrawlAgain  time.Duration // minimum time between two re-crawls of one resource
	MaxPending    int           // maximum number of pending re-crawls for one origin
	MaxPendingAll int           // maximum number of pending re-crawls for all origins together
	MaxADay       int           // maximum number of re-crawls executed for one origin within 24 hours
	// maximum number of requests without effect that are listed for one origin within 24 hours
	MaxListed  int
	SubRecords bool // P1 2.3 (C13): execute take-downs in sub-records too
	// name of the file with the Ed25519 key that signs receipts; "": receipts are not signed
	ReceiptKey string
}

// Check lists the codes of findings that the command check reports with another severity than
// usual, or only counts (Ignore).
type Check struct {
	Ignore  []string
	Notice  []string
	Warning []string
	Error   []string
}

// Serve holds the settings of the HTTP server that the verb serve starts.
type Serve struct {
	PublicHosts    []string // accepted values of the Host header, in addition to the address Listen
	ReplayDomain   string   // domain below which unmodified copies have host names of their own; "": none
	AdminListen    string   // address:port at which /healthz, /readyz and /metrics are served; "": they are not served
	Certificate    string   // name of the file with the TLS certificate; "": no TLS
	Key            string   // name of the file with the private key of the TLS certificate
	TrustedProxies []string // IP addresses and ranges in CIDR notation
	// hash of the operator's password, as the verb serve password prints it; "": the operator cannot log in
	OperatorPassword string
	Readers          string // who may read: ReadersEveryone or ReadersLogin

	RequestsPerSecond, Burst       int // of one client
	ClientConnections, Connections int // of one client, and of all
}

// Render says for which pages of a crawl a browser runs the scripts, and what these may use.
type Render struct {
	Pages    []string      // patterns of their addresses; empty: none
	Time     time.Duration // for one page
	Requests int           // for one page
	Bytes    int64         // of one page, its parts and the resulting document
	Screens  int           // how many screens a page is scrolled at most
}

// S3 says which object store has the bodies of archived pages.
type S3 struct {
	Endpoint    string // address of the server; "": bodies are in files of the data directory
	Bucket      string
	Prefix      string // path within the bucket, without slashes at its ends; may be empty
	Region      string // may be empty
	Unversioned bool   // the operator vouches that the bucket keeps no old versions
}

// AutoFree is the value of MinFree that means the smaller of 256 MB and 2 % of the disk.
const AutoFree = -1

// Unlimited is the value of Depth, MaxPages, MaxBytes and MaxHostURLs that sets no limit.
const Unlimited = -1

// Input holds the sources of settings. The zero value yields the defaults.
type Input struct {
	// name of the configuration file that the user named; "": the default file, which need not
	// exist
	File string
	Text []byte   // content of the file, if it was read before; nil: Load reads the file
	Env  []string // environment variables in the form of os.Environ
	// key of a setting → value of the flag that sets it: a string, a []string or a bool. Only flags
	// that the user gave
	Flags map[string]any
	// name of a job whose settings replace the others of the file; "": none. The environment and flags replace them
	Job string

	// key of a setting → value that all nodes of the cluster have. It replaces the default; if SharedFirst is set, also
	// every other source
	Shared      map[string]any
	SharedFirst bool

	// Judges says that the flags for crawler and purposes describe the crawler whose permissions
	// are evaluated. Requests are then sent with the configured crawler name (see Sender).
	Judges bool
}

// Error describes a wrong setting, or an error that concerns the whole file if Key is empty.
type Error struct {
	Where string // where the setting was made: the name of the file, "environment variable ACAPCRAWL_…" or "flag --…"
	Key   string
	What  string
	Hint  string // text that says what to write instead; may be empty
}

// Error returns one sentence that names the place, the key and the mistake.
func (e *Error) Error() string {
	if e.Key == "" {
		return e.Where + ": " + e.What
	}
	return e.Where + ": " + e.Key + ": " + e.What
}
