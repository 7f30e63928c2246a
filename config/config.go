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
	Crawler  []string // user-agent tokens that this crawler obeys; see crawlerNames
	Purposes []string // nil: undeclared; empty: the crawler has no purpose
	Cannot   []string // types treated as unsupported (P1 2.4.3, P2 2.2.6)
	Policy   Policy
	Contact  string // URL sent in the User-Agent; "" sends none

	Scope          string        // host, domain, prefix or any
	Depth          int           // maximal number of links from a seed; Unlimited for no limit
	MaxPages       int           // page requests in a run; Unlimited for no limit
	MaxBytes       int64         // bytes of bodies in a run; Unlimited for no limit
	MaxTime        time.Duration // time limit of a run; 0 for no limit
	MinFree        int64         // a crawl stops if fewer bytes are free on the disk; or AutoFree
	MaxHostURLs    int           // addresses queued of one host; Unlimited for no limit
	Include        []string      // patterns of addresses; empty: all
	Exclude        []string
	Requisites     bool          // fetch subresources of pages
	Canonical      bool          // skip a page whose canonical address was fetched
	DropParameters []string      // query parameters removed from links
	RecrawlMin     time.Duration // shortest time until a page is visited again; 0: never
	RecrawlMax     time.Duration
	Adaptive       bool // request less often if a host gets slower
	PerAddress     bool // hosts at one network address share the delay
	Preserve       bool // archive pages
	Index          bool
	CompactWithin  time.Duration // longest time from an erasure to a compaction during a crawl; 0: never
	SignatureKey   string        // file of an Ed25519 key, "" for none
	SignatureAgent string
	Metrics        string        // address:port, "" for none
	Delay          time.Duration // shortest time between the starts of two requests to a host
	Concurrency    int           // concurrent requests
	PerHost        int           // concurrent requests to one host; see Load for its default
	Sitemaps       bool          // follow the sitemaps that robots.txt names
	AllowPrivate   bool          // allow loopback, private and link-local addresses everywhere
	Timeout        time.Duration // time limit for one request including its body
	MaxBody        int64         // longest body in bytes after decoding; the rest is cut off
	Memory         int64         // memory limit of the process in bytes; 0: derived from the machine

	SnippetLength   int    // P1 2.5.5.4 (J01): a length counts code points
	CountryDatabase string // a MaxMind database file, "" for none
	Chromium        string // the program that renders pages, "" for none
	ChromiumSandbox bool
	ReaderDNS       bool // look up the host names of a reader's address
	Check           Check
	Actions         Actions
	Listen          string // address:port of serve
	Serve           Serve
	LogLevel        slog.Level // messages below it are not logged

	File    string  // the file that was read, "" for none
	own     *Config // the configuration for sending requests (see Sender); nil: this one
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
	Strict            bool   // interpret ACAP more strictly
	Dialect           string // Dialect11 or DialectPilot
	NoarchivePreserve bool   // P2 3 (N24): noarchive and nocache only prohibit showing copies, unless this is set
}

// Actions holds the settings of action requests (P1 2.6).
type Actions struct {
	Mode          string        // ActionsDirect or ActionsConfirm
	ConfirmWithin time.Duration // how long a request waits for its line in robots.txt
	SeenWithin    time.Duration // interval of reading robots.txt, 5 minutes to 24 hours; 0: crawls read it
	EraseWithin   time.Duration // longest time from a take-down to a compaction; 0: at once
	RecrawlAgain  time.Duration // shortest time between two re-crawls of one resource
	MaxPending    int           // pending re-crawls of an origin
	MaxPendingAll int           // pending re-crawls of all origins
	MaxADay       int           // executed re-crawls of an origin within 24 hours
	MaxListed     int           // requests of an origin without effect that are listed within 24 hours
	SubRecords    bool          // P1 2.3 (C13): execute take-downs in sub-records too
	ReceiptKey    string        // file of an Ed25519 key, "" for none
}

// Check lists codes of findings that the command check reports with another severity, or only
// counts.
type Check struct {
	Ignore  []string
	Notice  []string
	Warning []string
	Error   []string
}

// Serve holds the settings of the HTTP server.
type Serve struct {
	Hosts       []string // accepted Host headers in addition to Listen
	AdminListen string   // address:port of /healthz and /metrics; empty: disabled
	Certificate string   // file of the TLS certificate, "" for none
	Key         string   // file of the private key of the certificate
	BehindProxy bool
}

// AutoFree is the value of MinFree that means the smaller of 256 MB and 2 % of the disk.
const AutoFree = -1

// Unlimited is the value of Depth, MaxPages, MaxBytes and MaxHostURLs that sets no limit.
const Unlimited = -1

// Input holds the sources of settings. The zero value yields the defaults.
type Input struct {
	File  string         // named by the user; "" means the default file, which need not exist
	Env   []string       // as returned by os.Environ
	Flags map[string]any // key → value of a flag that was given: a string, a []string or a bool

	// Judges says that the flags of crawler and purposes name the crawler whose permissions are
	// evaluated, not the one that sends requests (see Sender).
	Judges bool
}

// Error is a wrong setting, or an error of the whole file if Key is empty.
type Error struct {
	Where string // the file, "environment variable ACAPCRAWL_…" or "flag --…"
	Key   string
	What  string
	Hint  string // what to write instead, or ""
}

// Error returns one sentence that names the place, the key and the mistake.
func (e *Error) Error() string {
	if e.Key == "" {
		return e.Where + ": " + e.What
	}
	return e.Where + ": " + e.Key + ": " + e.What
}

// Load reads all settings from in. Its error joins one *Error for each wrong setting.
//
// If PerHost is not set, it is 1. With a delay of 0, which is meant for the operator's own hosts,
// it is Concurrency.
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

// completeSettings expands ~ in Data with HOME from env and sets the values that depend on other
// settings.
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

// readFile reads the file that the user named into v. Without one it reads the default file if it
// exists, and otherwise clears c.File.
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

// format returns the format of a file by the extension of its name: "json", "toml", or else "yaml".
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

// wrong returns err, a mistake in the value of k, with the place where k was set.
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

// nest sets m[section][rest] for a dotted name section.rest, to any depth.
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

// Nearest returns the word of words that name is most likely a misspelling of, or "" if no word is
// similar.
func Nearest(name string, words []string) string {
	best, least := "", len(name)/3+1
	for _, w := range words {
		if d := distance(name, w); d < least || d == least && best == "" {
			best, least = w, d
		}
	}
	return best
}

// distance returns the number of bytes to insert, delete or replace to turn a into b (Levenshtein).
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
