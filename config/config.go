package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"
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
	Metrics        string        // address:port at which a crawl serves metrics; "": no metrics
	Delay          time.Duration // minimum time between the starts of two requests to a host
	Concurrency    int           // maximum number of concurrent requests
	PerHost        int           // maximum number of concurrent requests to one host; see Load for the default
	Sitemaps       bool          // follow the sitemaps that robots.txt names
	AllowPrivate   bool          // follow links and redirects to loopback, private and link-local addresses
	Timeout        time.Duration // time limit for one request including its body
	MaxBody        int64         // maximum size of a body in bytes after decoding; the rest is cut off
	Memory         int64         // memory limit of the process in bytes; 0: computed from the memory of the machine

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

	File    string  // name of the configuration file that was read; "": none
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
	Env  []string // environment variables in the form of os.Environ
	// key of a setting → value of the flag that sets it: a string, a []string or a bool. Only flags
	// that the user gave
	Flags map[string]any

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

// Load reads all settings from the sources in the argument. Its error joins one *Error for each
// wrong setting.
//
// The default of PerHost is 1. If Delay is 0, which is meant for the operator's own hosts, the
// default of PerHost is Concurrency.
func Load(in Input) (*Config, error) {
	v := viper.New()
	c := &Config{File: in.File, origins: map[string]Origin{}}
	env := variables(in.Env)
	if err := c.readFile(v, in); err != nil {
		return nil, err
	}

	var wrong []error
	names := v.AllKeys()
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(Keys(), name) {
			wrong = append(wrong, unknownKey(c.File, name))
		} else if !v.InConfig(name) {
			wrong = append(wrong, &Error{Where: c.File, Key: name, What: "the key has no value"})
		}
	}

	overlay := map[string]any{}
	for _, k := range keys {
		v.SetDefault(k.name, k.fallback(in.Env))
		origin := Origin{Kind: Default}
		if v.InConfig(k.name) {
			origin = Origin{Kind: File, Name: c.File}
		}
		if text, set := env[k.variable()]; set && text != "" {
			overlay[k.name] = variable(text)
			origin = Origin{Kind: Environment, Name: k.variable()}
		}
		if value, set := in.Flags[k.name]; set {
			v.Set(k.name, value)
			origin = Origin{Kind: Flag, Name: k.flag()}
		}
		if value, set := in.Shared[k.name]; set && (in.SharedFirst || origin.Kind == Default) {
			delete(overlay, k.name)
			v.Set(k.name, value)
			origin = Origin{Kind: Shared}
		}
		c.origins[k.name] = origin
	}
	for name, value := range overlay {
		nested := map[string]any{}
		nest(nested, name, value)
		if err := v.MergeConfigMap(nested); err != nil {
			return nil, err
		}
	}

	for _, k := range keys {
		if slices.ContainsFunc(names, k.misshapen) {
			continue
		}
		if err := k.set(c, v.Get(k.name)); err != nil {
			wrong = append(wrong, c.wrong(k, err))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	c.completeSettings(env)
	if _, named := in.Flags["crawler"]; in.Judges && named {
		sender := in
		sender.Judges, sender.Flags = false, maps.Clone(in.Flags)
		delete(sender.Flags, "crawler")
		delete(sender.Flags, "purposes")
		var err error
		if c.own, err = Load(sender); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// completeSettings replaces ~ in Data by the variable HOME of env, and sets the values that depend
// on other settings.
func (c *Config) completeSettings(env map[string]string) {
	if rest, ok := strings.CutPrefix(c.Data, "~/"); ok && env["HOME"] != "" {
		c.Data = filepath.Join(env["HOME"], rest)
	}
	c.RecrawlMax = max(c.RecrawlMax, c.RecrawlMin)
	if c.PerHost == 0 {
		c.PerHost = 1
		if c.Delay == 0 {
			c.PerHost = c.Concurrency
		}
	}
}

// readFile reads into v the file that the user named. If the user named none, it reads the default
// file; if the default file does not exist, it sets c.File to "".
func (c *Config) readFile(v *viper.Viper, in Input) error {
	if c.File == "" {
		if c.File = DefaultFile(in.Env); c.File == "" {
			return nil
		}
	}
	text, err := os.ReadFile(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && in.File == "":
		c.File = ""
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Where: c.File, What: "there is no such configuration file",
			Hint: "acapcrawl config init --config " + c.File}
	case err != nil:
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return &Error{Where: c.File, What: fmt.Sprintf("the configuration file cannot be read: %v", err)}
	}
	v.SetConfigType(format(c.File))
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return &Error{Where: c.File, What: "the configuration file is not well-formed: " + syntax(err)}
	}
	return nil
}

// format returns the format of a file: "json" or "toml" if its name has this extension, otherwise
// "yaml".
func format(file string) string {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".json", ".toml":
		return ext[1:]
	}
	return "yaml"
}

// syntax returns the message of the parser on one line, without the text that viper adds.
func syntax(err error) string {
	var parse viper.ConfigParseError
	if errors.As(err, &parse) {
		err = parse.Unwrap()
	}
	return strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
}

func unknownKey(file, name string) error {
	e := &Error{Where: file, Key: name, What: "there is no such key"}
	if near := Nearest(name, Keys()); near != "" {
		e.Hint = "write " + near
	}
	return e
}

// wrong returns an *Error for err, which describes a mistake in the value of the setting k. It adds
// the place where the setting was made.
func (c *Config) wrong(k key, err error) *Error {
	e := &Error{What: err.Error(), Hint: k.hint}
	switch o := c.origins[k.name]; o.Kind {
	case File:
		e.Where, e.Key = o.Name, k.name
	case Default:
		e.Where, e.Key = "default", k.name
	default:
		e.Where = o.String()
	}
	return e
}

// nest stores value in nested maps: for the name "a.b.c" it sets m["a"]["b"]["c"].
func nest(m map[string]any, name string, value any) {
	section, rest, deeper := strings.Cut(name, ".")
	if !deeper {
		m[name] = value
		return
	}
	inner := map[string]any{}
	nest(inner, rest, value)
	m[section] = inner
}

// Nearest returns the element of words that is most similar to the misspelled name, or "" if no
// element is similar.
func Nearest(name string, words []string) string {
	best, least := "", len(name)/3+1
	for _, w := range words {
		if d := distance(name, w); d < least || d == least && best == "" {
			best, least = w, d
		}
	}
	return best
}

// distance returns how many bytes must be inserted, deleted or replaced to turn the first string
// into the second (Levenshtein distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
