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

// Config is what is in force for a run. It must not be changed after Load.
type Config struct {
	Data     string   // the data directory
	Crawler  []string // tokens answered to (C05), the User-Agent's first (X67); never empty
	Purposes []string // nil: undeclared; empty: there are none (C15)
	Cannot   []string // what this crawler must say it cannot interpret (P1 2.4.3, P2 2.2.6)
	Policy   Policy
	Contact  string // URL sent in the User-Agent; "" sends none

	Scope          string        // host, domain, prefix or any
	Depth          int           // links away from a seed; Unlimited for no limit
	MaxPages       int           // page requests in a run; Unlimited for no limit
	MaxBytes       int64         // bytes of bodies in a run; Unlimited for no limit
	MaxTime        time.Duration // of a run; 0 for no limit
	MinFree        int64         // bytes free on the disk, below which a crawl stops; AutoFree: by its size
	MaxHostURLs    int           // addresses noted of one host; Unlimited for no limit
	Include        []string      // patterns of addresses; empty: all
	Exclude        []string
	Requisites     bool          // fetch what pages are shown with
	Canonical      bool          // leave a page to its canonical address
	DropParameters []string      // of queries, which make no difference
	RecrawlMin     time.Duration // until a page is visited again; 0: never
	RecrawlMax     time.Duration
	Adaptive       bool // slower where a host is slow
	PerAddress     bool // one pause for all hosts at an address
	Preserve       bool // keep copies
	Index          bool
	CompactWithin  time.Duration // of an erasure, while a crawl runs; 0: never
	SignatureKey   string        // file of an Ed25519 key, "" for none
	SignatureAgent string
	Metrics        string        // address:port, "" for none
	Delay          time.Duration // between the starts of two requests to a host
	Concurrency    int           // requests under way at once
	PerHost        int           // requests under way at once to one host; see Load for its default
	Sitemaps       bool          // follow the sitemaps that robots.txt names
	AllowPrivate   bool          // open loopback, private and link-local addresses that were not named
	Timeout        time.Duration // for one request, body included
	MaxBody        int64         // bytes of a body that are taken, after Content-Encoding is undone
	Memory         int64         // bytes that the process should take; 0: as the machine has

	SnippetLength   int    // code points (J01)
	CountryDatabase string // a MaxMind database file, "" for none
	Chromium        string // the program that draws pages, "" for none
	ChromiumSandbox bool
	ReaderDNS       bool // ask DNS for the names of a reader's address
	Check           Check
	Actions         Actions
	Listen          string // address:port of serve
	Serve           Serve
	LogLevel        slog.Level // messages below it are not logged

	File    string // the file that was read, "" for none
	own     *Config
	origins map[string]Origin
}

// Sender returns the configuration for sending requests: c itself, or if a flag names another
// crawler to judge for, the configuration without that flag (X80).
func (c *Config) Sender() *Config {
	if c.own != nil {
		return c.own
	}
	return c
}

// Policy holds the choices that the readings leave to the operator.
type Policy struct {
	Strict            bool   // the strict variants of the readings
	Dialect           string // Dialect11 or DialectPilot
	NoarchivePreserve bool   // noarchive and nocache prohibit preserve as well (N24)
}

// Actions holds what is said of action requests (P1 2.6).
type Actions struct {
	Mode          string        // ActionsDirect or ActionsConfirm (P07)
	ConfirmWithin time.Duration // that a request waits for its line
	SeenWithin    time.Duration // from 5 minutes to 24 hours; 0: as crawls read robots.txt
	EraseWithin   time.Duration // from a take-down to a compaction; 0: at once
	RecrawlAgain  time.Duration // between two re-crawls of one resource (P04)
	MaxPending    int           // re-crawls of an origin (P09)
	MaxPendingAll int           // re-crawls of all origins
	MaxADay       int           // re-crawls of an origin within 24 hours
	MaxListed     int           // requests of an origin that change nothing, in 24 hours
	SubRecords    bool          // execute take-downs of sub-records (C13)
	ReceiptKey    string        // file of an Ed25519 key, "" for none
}

// Check lists the codes of findings that the verb check reports with another severity, or only
// counts.
type Check struct {
	Ignore  []string
	Notice  []string
	Warning []string
	Error   []string
}

// Serve holds how requests reach serve.
type Serve struct {
	Hosts       []string // answered to beside Listen
	AdminListen string   // address:port of /healthz and /metrics; empty: nowhere
	Certificate string   // file, "" for none
	Key         string   // file
	BehindProxy bool
}

// AutoFree is the value of MinFree for the smaller of 256 MB and 2 % of the disk.
const AutoFree = -1

// Unlimited is the value of Depth and MaxPages that sets no limit.
const Unlimited = -1

// Input is where settings come from. The zero value gives the defaults alone.
type Input struct {
	File  string         // as named by the user; "" means the default file, which need not exist
	Env   []string       // as os.Environ gives it
	Flags map[string]any // by key, the flags that were given: a string, a []string or a bool each

	// Judges says that the flags of crawler and purposes name the crawler that is judged for, not
	// the one that sends requests.
	Judges bool
}

// Error says what is wrong with one setting, or with the file as a whole when Key is empty.
type Error struct {
	Where string // the file, "environment variable ACAPCRAWL_…" or "flag --…"
	Key   string
	What  string
	Hint  string // what to write instead, "" if there is nothing to say
}

// Error is one sentence that names the place, the key and what is wrong.
func (e *Error) Error() string {
	if e.Key == "" {
		return e.Where + ": " + e.What
	}
	return e.Where + ": " + e.Key + ": " + e.What
}

// Load reads every setting from in. Its error joins one *Error for each setting that is wrong.
//
// Without a value of its own, PerHost is 1, and with a delay of 0, which is for hosts one runs, as much as Concurrency.
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
	c.settle(env)
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

// settle fills what depends on env and on other settings.
func (c *Config) settle(env map[string]string) {
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

// readFile reads the file that was named, else the default file if there is one, into v.
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
		return &Error{Where: c.File, What: "there is no such configuration file", Hint: "acapcrawl config init --config " + c.File}
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

// format tells the language of a file by its name; YAML unless it says otherwise.
func format(file string) string {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".json", ".toml":
		return ext[1:]
	}
	return "yaml"
}

// syntax is the reader's own sentence, without what wraps it, on one line.
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

// wrong puts the place where k was set to err, which says what is wrong with its value.
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

// nest puts value into m under a dotted name.
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

// Nearest returns the word of words that name is most likely a slip of, "" when none is near.
func Nearest(name string, words []string) string {
	best, least := "", len(name)/3+1
	for _, w := range words {
		if d := distance(name, w); d < least || d == least && best == "" {
			best, least = w, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace to make b of a.
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
