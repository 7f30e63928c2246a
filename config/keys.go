package config

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// undeclared is the default of purposes: the operator has not declared any.
const undeclared = "undeclared"

// key describes a setting: name, default value as written in a file, description in the commented
// file, hint for wrong values, and functions that store the value in a Config and return it from a
// Config.
type key struct {
	name     string
	standard any
	about    string
	hint     string
	set      func(*Config, any) error
	get      func(*Config) any
}

// setting returns a key. field returns a pointer to the field of Config that stores the value, read
// converts a value from any source, and show converts the value to the form in which a file
// contains it.
func setting[T any](name string, standard any, hint string,
	field func(*Config) *T, read func(any) (T, error), show func(T) any, about string) key {
	return key{
		name: name, standard: standard, about: strings.TrimSpace(about), hint: hint,
		set: func(c *Config, v any) (err error) {
			*field(c), err = read(v)
			return err
		},
		get: func(c *Config) any { return show(*field(c)) },
	}
}

func plain[T any](v T) any { return v }

// keys lists all settings in the order in which the commented file contains them.
var keys = slices.Concat([]key{
	setting("data", "~/.local/share/acapcrawl", "name a directory with --data",
		func(c *Config) *string { return &c.Data }, directory, plain, `
The data directory: archived pages, the index, the queue of addresses, the policies. If this is not set and the
variable XDG_DATA_HOME is, the directory is $XDG_DATA_HOME/acapcrawl.`),

	setting("crawler", []string{"acapcrawl"}, "a name has letters, digits, - and _, as in acapcrawl",
		func(c *Config) *[]string { return &c.Crawler }, crawlerNames, plain, `
The user-agent tokens that this crawler obeys in robots.txt and on pages. The first is sent as User-Agent.`),

	setting("purposes", undeclared, "write a list of names or URIs without blanks, or [] for none",
		func(c *Config) *[]string { return &c.Purposes }, purposes, declared, `
The purposes for which pages are collected, as publishers name them in ACAP-usage-purpose. A list must be complete;
[] means that there are none. If no purposes are declared, the crawler obeys the prohibitions for every purpose.`),

	setting("cannot", []string{}, "as in max-length, present-thumbnail or element-level",
		func(c *Config) *[]string { return &c.Cannot }, list(uninterpreted), plain, `
Usage types, qualifier types or element-level that this crawler treats as unsupported. Permissions that need them
become prohibitions.`),

	setting("preferences", Vocabularies(), "write a list of "+strings.Join(Vocabularies(), ", ")+", or none",
		func(c *Config) *[]string { return &c.Preferences.Vocabularies },
		namesOf(Vocabularies(), "a vocabulary of preferences"), plain, `
The vocabularies after ACAP in which publishers state preferences, such as those about the training of models, and
that this crawler obeys. An empty list, or none, turns them off.`),

	setting("for", []string{}, "write a list of "+strings.Join(Uses(), ", ")+", or none",
		func(c *Config) *[]string { return &c.For }, namesOf(Uses(), "a use"), plain, `
The uses for which pages are collected, as in [train-ai]. A page on which one of them is not allowed is neither kept,
indexed nor shown; its links are followed. An empty list, or none, asks for no use.`),

	setting("tdmrep_covers_ai", true, "write true or false",
		func(c *Config) *bool { return &c.Preferences.TDMRepCoversAI }, boolean, plain, `
Whether a reservation of TDMRep is also about train-ai, ai-use and ai-index, not only about text and data mining.`),

	setting("content_signal_use", true, "write true or false",
		func(c *Config) *bool { return &c.Preferences.ContentSignalUse }, boolean, plain, `
Whether use=immediate, use=reference and use=full of Content-Signal are obeyed.`),

	setting("operator_kind", "", "write commercial, non-commercial, education, government or personal",
		func(c *Config) *string { return &c.Preferences.OperatorKind },
		oneOf(append([]string{""}, OperatorKinds()...)...), plain, `
What the operator is. Licences of RSL can be for operators of one kind only; without this, they need an agreement.`),

	setting("operator_country", "", "write two letters as in FR",
		func(c *Config) *string { return &c.Preferences.OperatorCountry }, country, plain, `
The country of the operator (ISO 3166-1 alpha-2). Licences of RSL can be for some countries only; without this, they
need an agreement.`),

	setting("contact", "", "write a URL as in https://example.com/our-crawler",
		func(c *Config) *string { return &c.Contact }, contact, plain, `
The URL of a page about this crawler, or a mailto: address. It is sent in the User-Agent, so that publishers can ask.`),

	setting("policy.strict", false, "write true or false",
		func(c *Config) *bool { return &c.Policy.Strict }, boolean, plain, `
Whether to take the strict variant if a document leaves a choice.`),

	setting("policy.dialect", Dialect11, "", func(c *Config) *string { return &c.Policy.Dialect }, dialect, plain, `
The forms of ACAP on pages that are obeyed: 1.1, or pilot for those of ACAP's pilot of 2007 as well.`),

	setting("policy.noarchive_preserve", false, "write true or false",
		func(c *Config) *bool { return &c.Policy.NoarchivePreserve }, boolean, plain, `
Whether noarchive and nocache prohibit archiving a page too. They always prohibit showing the archived page.`),

	setting("scope", "host", "", func(c *Config) *string { return &c.Scope }, oneOf(Scopes()...), plain, `
The links that are followed: to the host of a seed (host), to its domain (domain), below its path (prefix), or any.`),

	setting("depth", Unlimited, "0 visits only the seeds, -1 sets no limit",
		func(c *Config) *int { return &c.Depth }, integer(0, Unlimited), plain, `
The maximal number of links from a seed to a page. 0 visits only the seeds; -1 sets no limit.`),

	setting("max_pages", Unlimited, "write a number above 0, or -1 for no limit",
		func(c *Config) *int { return &c.MaxPages }, integer(1, Unlimited), plain, `
The maximal number of page requests in a run, redirects included. Then the run starts no more visits.
-1 sets no limit.`),

	setting("include", []string{}, "as in https://example.com/news/ or /news/*.html$",
		func(c *Config) *[]string { return &c.Include }, list(addressPattern), plain, `
Patterns of addresses. If there are any, only addresses in scope that match one are visited, and all seeds.
* matches any characters, and $ at the end of a pattern matches the end of the address. A pattern that begins with
/ or * is compared with path and query, any other with the whole address, both from the start: /news/ matches
everything below /news/, and *.iso$ matches all addresses that end in .iso.`),

	setting("exclude", []string{}, "as in https://example.com/calendar/ or *.iso$",
		func(c *Config) *[]string { return &c.Exclude }, list(addressPattern), plain, `
Patterns of addresses that are not visited. They override include and apply to seeds too.`),

	setting("render", []string{}, "as in https://example.com/app/ or /app/",
		func(c *Config) *[]string { return &c.Render.Pages }, list(addressPattern), plain, `
Patterns of addresses, as in include. Chromium runs the scripts of the pages that match one. Text, links and statements
on elements are then those of the document that the scripts make. Each request of the scripts is checked, delayed and
archived like any other; only GET requests are made. Images are requested only if requisites is set.`),

	setting("render_time", "30s", "write a duration as in 30s",
		func(c *Config) *time.Duration { return &c.Render.Time }, duration(time.Second), shown, `
The maximal time in which the scripts of one page may make requests. The delays between requests count.`),

	setting("render_requests", 100, "write a number above 0",
		func(c *Config) *int { return &c.Render.Requests }, integer(1), plain, `
The maximal number of requests for the scripts of one page.`),

	setting("render_bytes", "20MiB", "write a size as in 20MiB",
		func(c *Config) *int64 { return &c.Render.Bytes }, byteSize, writtenSize, `
The maximal size of a page together with what its scripts request, and the maximal size of the document that they make.
The document also has at most 20,971,520 characters.`),

	setting("render_screens", 10, "0 does not scroll",
		func(c *Config) *int { return &c.Render.Screens }, integer(0), plain, `
How many screens a page is scrolled at most, so that scripts load more of it. 0 does not scroll.`),

	setting("max_bytes", Unlimited, "write a size as in 500MB, or -1 for no limit",
		func(c *Config) *int64 { return &c.MaxBytes }, sizeOrUnlimited, writtenSizeOrUnlimited, `
The number of bytes of bodies, as transferred, after which a run starts no more visits. -1 sets no limit.`),

	setting("max_time", "0s", "write a duration as in 8h, or 0s for no limit",
		func(c *Config) *time.Duration { return &c.MaxTime }, duration(0), shown, `
The time after which a run starts no more visits. 0s sets no limit.`),

	setting("min_free", "auto", "write a size as in 1GB, or auto",
		func(c *Config) *int64 { return &c.MinFree }, freeSize, writtenFreeSize, `
A crawl stops if less than this is free on the disk of the data directory. auto is the smaller of 256 MB and 2 %
of the disk; with 0 the crawl goes on until the disk is full.`),

	setting("max_host_urls", 1000000, "write a number above 0, or -1 for no limit",
		func(c *Config) *int { return &c.MaxHostURLs }, integer(1, Unlimited), plain, `
The maximal number of addresses of one host in the queue. It limits crawler traps such as endless calendars.
-1 sets no limit.`),

	setting("requisites", false, "write true or false",
		func(c *Config) *bool { return &c.Requisites }, boolean, plain, `
Whether to fetch the subresources of pages too: images, scripts, styles and media, if they are in scope. A subresource
has the same depth as its page.`),

	setting("canonical", false, "write true or false",
		func(c *Config) *bool { return &c.Canonical }, boolean, plain, `
Whether to skip a page that names another address of its host as its canonical address, if that address was fetched
before.`),

	setting("drop_parameters", []string{}, "as in PHPSESSID or utm_*",
		func(c *Config) *[]string { return &c.DropParameters }, list(parameter), plain, `
Query parameters that do not change a page, such as session ids. They are removed from links. * at the end of a name
matches any characters.`),

	setting("recrawl_min", "0s", "write a duration as in 24h, or 0s to visit pages once",
		func(c *Config) *time.Duration { return &c.RecrawlMin }, duration(0), shown, `
The shortest time until a page is visited again. Pages that do not change are visited less and less often. 0s visits
every page once.`),

	setting("recrawl_max", "720h", "write a duration as in 720h",
		func(c *Config) *time.Duration { return &c.RecrawlMax }, duration(time.Second), shown, `
The longest time until a page is visited again, if recrawl_min is not 0s. It is never shorter than recrawl_min.`),

	setting("adaptive", true, "write true or false", func(c *Config) *bool { return &c.Adaptive }, boolean, plain, `
Whether to lower the request rate if a host gets slower or answers with errors. The time between requests is never
shorter than delay. If delay is 0, this setting has no effect.`),

	setting("per_address", false, "write true or false",
		func(c *Config) *bool { return &c.PerAddress }, boolean, plain, `
Whether hosts at one network address share its delay, as if they were one host.`),

	setting("delay", "1s", "write a duration as in 1s or 500ms",
		func(c *Config) *time.Duration { return &c.Delay }, duration(0), shown, `
The time between the starts of two requests to a host. If the host's Crawl-delay is longer, it is used instead.
Use 0 only for hosts that you run yourself.`),

	setting("concurrency", 16, "write a number above 0",
		func(c *Config) *int { return &c.Concurrency }, integer(1), plain, `
The maximal number of concurrent requests.`),

	setting("per_host", 0, "write a number above 0, or 0 to let the delay decide",
		func(c *Config) *int { return &c.PerHost }, integer(0), plain, `
The maximal number of concurrent requests to one host. 0 means 1, or the value of concurrency if delay is 0.`),

	setting("sitemaps", false, "write true or false", func(c *Config) *bool { return &c.Sitemaps }, boolean, plain, `
Whether to visit the pages that a host's sitemaps list.`),

	setting("allow_private", false, "write true or false",
		func(c *Config) *bool { return &c.AllowPrivate }, boolean, plain, `
Whether links, redirects and references to loopback, private and link-local addresses are followed. An address
that is named on the command line is always allowed.`),

	setting("timeout", "30s", "write a duration as in 30s",
		func(c *Config) *time.Duration { return &c.Timeout }, duration(time.Millisecond), shown, `
The time limit for one request including its body.`),

	setting("max_body", "32MiB", "write a size as in 500000 or 32MiB",
		func(c *Config) *int64 { return &c.MaxBody }, byteSize, writtenSize, `
The maximal length of a body after decompression. A longer body is cut off and marked as truncated.`),

	setting("memory", "auto", "write a size as in 2GiB, or auto",
		func(c *Config) *int64 { return &c.Memory }, sizeOrAuto, writtenSizeOrAuto, `
The memory limit of the process. Near this limit memory is freed more often, which takes time. The memory for reading
pages is always limited, and the limit is lower if this is below 768MiB. auto is half of the memory of the machine, or
half of the limit of the control group.`),

	setting("preserve", true, "write true or false", func(c *Config) *bool { return &c.Preserve }, boolean, plain, `
Whether to archive pages if their publishers permit it.`),

	setting("index", true, "write true or false", func(c *Config) *bool { return &c.Index }, boolean, plain, `
Whether to index pages if their publishers permit it.`),

	setting("compact_within", "1h", "write a duration as in 1h, or 0s to leave that to archive compact",
		func(c *Config) *time.Duration { return &c.CompactWithin }, duration(0), shown, `
The longest time from an erasure to a compaction of archive and index while a crawl runs. Until then erased pages
cannot be read or found, but their space and words remain in the files. With 0s only archive compact compacts.
After a take-down actions.erase_within applies.`),

	setting("signature_key", "", "name a file with an Ed25519 private key in PEM",
		func(c *Config) *string { return &c.SignatureKey }, text, plain, `
A file with an Ed25519 private key (PEM, PKCS 8) that signs requests. Hosts can then distinguish this crawler from
others that use its name (Web Bot Auth, RFC 9421).`),

	setting("signature_agent", "", "write a URL as in https://crawler.example.com",
		func(c *Config) *string { return &c.SignatureAgent }, contact, plain, `
The URL at which the public key is published. It is sent with each signature as Signature-Agent.`),

	setting("credentials", "", "name a file as in /etc/acapcrawl/credentials.yaml",
		func(c *Config) *string { return &c.Credentials }, text, plain, `
A file with what identifies the operator to sites: for each origin, such as https://example.com, user and password for
HTTP authentication, or headers with further fields. Nobody else may read the file. Its content is sent to these
origins only, and is replaced by "redacted" in captures.`),

	setting("cookies", "", "name a file as in /etc/acapcrawl/cookies.txt",
		func(c *Config) *string { return &c.Cookies }, text, plain, `
A file of cookies in the format of Netscape, as browsers and curl export it. Cookies that sites set are not kept.`),

	setting("keep_credentials", false, "write true or false",
		func(c *Config) *bool { return &c.KeepCredentials }, boolean, plain, `
Whether captures contain credentials and cookies as they were sent.`),

	setting("metrics", "", "write an address with a port as in 127.0.0.1:9090",
		func(c *Config) *string { return &c.Metrics }, optional(address), plain, `
The address on which a crawl answers /metrics for Prometheus. If it is empty, metrics are disabled.`),

	setting("snippet_length", 250, "write a number above 0",
		func(c *Config) *int { return &c.SnippetLength }, integer(1), plain, `
The length of a snippet in characters if the publisher sets none.`),

	setting("country_database", "", "name a file as in /var/lib/GeoIP/GeoLite2-Country.mmdb",
		func(c *Config) *string { return &c.CountryDatabase }, text, plain, `
A database file of countries in MaxMind's format (GeoIP2 or GeoLite2 Country, City or Enterprise, or a similar one).
It is used to find the country of a reader's address if no country is given.`),

	setting("reader_dns", false, "write true or false",
		func(c *Config) *bool { return &c.ReaderDNS }, boolean, plain, `
Whether to look up the host names of a reader's address in DNS if no domain is given. Only a name that resolves to the
same address counts.`),

	setting("chromium", "", "name a program as in /usr/bin/chromium",
		func(c *Config) *string { return &c.Chromium }, text, plain, `
The program that draws pages for thumbnails: Chromium or a compatible browser. It has no access to the network: the
crawler supplies the subresources of a page if they are permitted. Without this program only images have thumbnails, and
the setting render uses an installed Chromium.`),

	setting("chromium_sandbox", true, "write true or false",
		func(c *Config) *bool { return &c.ChromiumSandbox }, boolean, plain, `
Whether pages are rendered in Chromium's sandbox. The sandbox is not available if root runs the crawl.`),

	setting("check.ignore", []string{}, "as in duplicate-field or agent-name",
		func(c *Config) *[]string { return &c.Check.Ignore }, list(findingCode), plain, `
Codes of findings that check does not show but only counts. A comment line in a robots.txt has the same effect for that
file:
# acapcrawl: ignore duplicate-field, agent-name -- reason`),

	setting("check.notice", []string{}, "as in duplicate-field or agent-name",
		func(c *Config) *[]string { return &c.Check.Notice }, list(findingCode), plain, `
Codes of findings that check reports as notices, regardless of their own severity.`),

	setting("check.warning", []string{}, "as in duplicate-field or agent-name",
		func(c *Config) *[]string { return &c.Check.Warning }, list(findingCode), plain, `
Codes of findings that check reports as warnings.`),

	setting("check.error", []string{}, "as in duplicate-field or agent-name",
		func(c *Config) *[]string { return &c.Check.Error }, list(findingCode), plain, `
Codes of findings that check reports as errors.`),
}, serveKeys, s3Keys, clusterKeys, []key{
	setting("log_level", "warn", "",
		func(c *Config) *slog.Level { return &c.LogLevel }, logLevel,
		func(l slog.Level) any { return strings.ToLower(l.String()) }, `
The lowest level of messages that are logged on standard error: debug, info, warn or error.`),

	setting("log_format", LogText, "",
		func(c *Config) *string { return &c.LogFormat }, oneOf(LogFormats()...), plain, `
The form of standard error: text, or json. With json each line is a JSON object with time, level and msg, also for
notices, errors and progress. Only errors in the settings themselves stay text.`),
})

// Keys returns the names of all settings.
func Keys() []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// Vocabularies returns the names of the newer vocabularies.
func Vocabularies() []string {
	return []string{"aipref", "content-signal", "tdmrep", "rsl", "noai", "plus-dmi"}
}

// Uses returns the uses that the setting for can name.
func Uses() []string { return []string{"train-ai", "ai-use", "ai-index", "tdm"} }

// OperatorKinds returns the values of operator_kind, apart from the empty one.
func OperatorKinds() []string {
	return []string{"commercial", "non-commercial", "education", "government", "personal"}
}

// Scopes returns the values of scope.
func Scopes() []string { return []string{"host", "domain", "prefix", "any"} }

// The values of policy.dialect.
const (
	Dialect11    = "1.1"
	DialectPilot = "pilot"
)

// Dialects returns the values of policy.dialect.
func Dialects() []string { return []string{Dialect11, DialectPilot} }

// The values of log_format.
const (
	LogText = "text"
	LogJSON = "json"
)

// LogFormats returns the values of log_format.
func LogFormats() []string { return []string{LogText, LogJSON} }

// LogLevels returns the values of log_level.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

const prefix = "ACAPCRAWL_"

// Variable returns the name of the environment variable of a key: ACAPCRAWL_POLICY_STRICT for
// policy.strict.
func Variable(key string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func (k key) variable() string { return Variable(k.name) }

// flag returns the name of the command-line flag of the setting.
func (k key) flag() string {
	if k.name == "purposes" {
		return "--purpose"
	}
	name := k.name[strings.LastIndexByte(k.name, '.')+1:]
	return "--" + strings.ReplaceAll(name, "_", "-")
}

// misshapen reports whether the unknown key name treats the setting k as a section ("k.name"), or
// the section that contains k as a setting.
func (k key) misshapen(name string) bool {
	return strings.HasPrefix(name, k.name+".") || strings.HasPrefix(k.name, name+".")
}

// fallback returns the default value of the setting; the default of data depends on the environment
// env.
func (k key) fallback(env []string) any {
	if k.name == "data" {
		return DefaultData(env)
	}
	return k.standard
}

// directory reads a path, and returns an error if the path is empty. The default path is empty if
// the environment names no home directory.
func directory(v any) (string, error) {
	s, err := text(v)
	if err == nil && s == "" {
		err = errors.New("no directory is named")
	}
	return s, err
}

func shown(d time.Duration) any { return d.String() }

// declared returns the purposes as a value to print, or nil if they are undeclared, so that null is
// printed instead of a list.
func declared(p []string) any {
	if p == nil {
		return nil
	}
	return p
}
