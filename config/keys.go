package config

import (
	"errors"
	"log/slog"
	"strings"
	"time"
)

// undeclared is the default of purposes: nothing was said about them.
const undeclared = "undeclared"

// key is one row of the table: a setting's name, its default as a file would write it, what the commented file says of
// it, what to try when its value is wrong, and how it enters and leaves Config.
type key struct {
	name     string
	standard any
	about    string
	hint     string
	set      func(*Config, any) error
	get      func(*Config) any
}

// setting makes a row whose value is kept at field, read by read and shown by show.
func setting[T any](name string, standard any, hint string, field func(*Config) *T, read func(any) (T, error), show func(T) any, about string) key {
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

// keys is the table of all settings, in the order of the commented file.
var keys = []key{
	setting("data", "~/.local/share/acapcrawl", "name a directory with --data", func(c *Config) *string { return &c.Data }, directory, plain, `
The data directory: what was crawled, the index, the frontier, the policies read. Without this line it is
$XDG_DATA_HOME/acapcrawl where that variable is set.`),

	setting("crawler", []string{"acapcrawl"}, "a name has letters, digits, - and _, as in acapcrawl", func(c *Config) *[]string { return &c.Crawler }, crawlerNames, plain, `
The names this crawler answers to in robots.txt and on pages. The first is sent as User-Agent.`),

	setting("purposes", undeclared, "write a list of names or URIs without blanks, or [] for none", func(c *Config) *[]string { return &c.Purposes }, purposes, declared, `
What the pages are collected for, as publishers name it in ACAP-usage-purpose. A list names all purposes there
are, [] says that there are none. While they are undeclared, prohibitions for any purpose bind.`),

	setting("cannot", []string{}, "as in max-length, present-thumbnail or element-level", func(c *Config) *[]string { return &c.Cannot }, list(uninterpreted), plain, `
Usage types, qualifier types or element-level that are to count as not interpretable: permissions that need
them become prohibitions.`),

	setting("contact", "", "write a URL as in https://example.com/our-crawler", func(c *Config) *string { return &c.Contact }, contact, plain, `
A page or mailto: address about this crawler, sent along in the User-Agent, so that publishers can ask.`),

	setting("policy.strict", false, "write true or false", func(c *Config) *bool { return &c.Policy.Strict }, boolean, plain, `
Where a document leaves a choice, take the strict variant.`),

	setting("policy.dialect", Dialect11, "", func(c *Config) *string { return &c.Policy.Dialect }, dialect, plain, `
Which forms pages may use: 1.1, or pilot to honour those of ACAP's pilot of 2007 as well.`),

	setting("policy.noarchive_preserve", false, "write true or false", func(c *Config) *bool { return &c.Policy.NoarchivePreserve }, boolean, plain, `
noarchive and nocache forbid to show a copy; with true they also forbid to keep one.`),

	setting("scope", "host", "", func(c *Config) *string { return &c.Scope }, oneOf(Scopes()...), plain, `
Which links are followed: those to the host of a seed, to its domain, below its path (prefix), or any.`),

	setting("depth", Unlimited, "0 takes the seeds alone, -1 sets no limit", func(c *Config) *int { return &c.Depth }, integer(0, Unlimited), plain, `
How many links away from a seed a page may be. 0 takes the seeds alone; -1 sets no limit.`),

	setting("max_pages", Unlimited, "write a number above 0, or -1 for no limit", func(c *Config) *int { return &c.MaxPages }, integer(1, Unlimited), plain, `
How many page requests a run makes at most, redirects included; then it begins no more visits. -1 sets no limit.`),

	setting("include", []string{}, "as in https://example.com/news/ or /news/*.html$", func(c *Config) *[]string { return &c.Include }, list(addressPattern), plain, `
Patterns of the addresses to be visited, where not all in scope are. * stands for any characters, and $ at the end
of a pattern for the end of the address. A pattern that begins with / or * is compared with path and query, any
other with the whole address, all from the start: /news/ covers what lies below it, *.iso$ what ends in .iso.
Seeds are visited in any case.`),

	setting("exclude", []string{}, "as in https://example.com/calendar/ or *.iso$", func(c *Config) *[]string { return &c.Exclude }, list(addressPattern), plain, `
Patterns of addresses that are not visited, seeds among them, whatever include says.`),

	setting("max_bytes", Unlimited, "write a size as in 500MB, or -1 for no limit", func(c *Config) *int64 { return &c.MaxBytes }, sizeOrUnlimited, writtenSizeOrUnlimited, `
After how many bytes of bodies, as sent, a run begins no more visits; -1 sets no limit.`),

	setting("max_time", "0s", "write a duration as in 8h, or 0s for no limit", func(c *Config) *time.Duration { return &c.MaxTime }, duration(0), shown, `
After how much time a run begins no more visits; 0s sets no limit.`),

	setting("min_free", "auto", "write a size as in 1GB, or auto", func(c *Config) *int64 { return &c.MinFree }, freeSize, writtenFreeSize, `
A crawl stops when less than this is free on the disk of the data directory. auto is the smaller of 256 MB and 2 %
of the disk; 0 lets the crawl go on until nothing is free.`),

	setting("max_host_urls", 1000000, "write a number above 0, or -1 for no limit", func(c *Config) *int { return &c.MaxHostURLs }, integer(1, Unlimited), plain, `
How many addresses of one host are noted. It ends calendars and other pages without end; -1 sets no limit.`),

	setting("requisites", false, "write true or false", func(c *Config) *bool { return &c.Requisites }, boolean, plain, `
Whether to fetch what a page is shown with as well: images, scripts, styles, media, as far as it is in scope. It
counts as no deeper than the page.`),

	setting("canonical", false, "write true or false", func(c *Config) *bool { return &c.Canonical }, boolean, plain, `
Whether a page that names another address of its host as its canonical one is left to that address where it was
fetched before.`),

	setting("drop_parameters", []string{}, "as in PHPSESSID or utm_*", func(c *Config) *[]string { return &c.DropParameters }, list(parameter), plain, `
Parameters of queries that make no difference to a page, such as those of sessions: links are followed without
them. A final * stands for any characters.`),

	setting("recrawl_min", "0s", "write a duration as in 24h, or 0s to visit pages once", func(c *Config) *time.Duration { return &c.RecrawlMin }, duration(0), shown, `
After how much time at least a page is visited again. Pages that do not change are visited less and less often.
0s visits pages once.`),

	setting("recrawl_max", "720h", "write a duration as in 720h", func(c *Config) *time.Duration { return &c.RecrawlMax }, duration(time.Second), shown, `
After how much time at most, where recrawl_min has pages visited again. It is never shorter than recrawl_min.`),

	setting("adaptive", true, "write true or false", func(c *Config) *bool { return &c.Adaptive }, boolean, plain, `
Whether to go slower where a host gets slower or errs. It never makes requests follow one another faster than
delay says, and means nothing where that is 0.`),

	setting("per_address", false, "write true or false", func(c *Config) *bool { return &c.PerAddress }, boolean, plain, `
Whether hosts at one network address share its delay, as if they were one host.`),

	setting("delay", "1s", "write a duration as in 1s or 500ms", func(c *Config) *time.Duration { return &c.Delay }, duration(0), shown, `
The time between the starts of two requests to a host. A longer Crawl-delay of the host holds instead.
0 is for hosts that you run yourself.`),

	setting("concurrency", 16, "write a number above 0", func(c *Config) *int { return &c.Concurrency }, integer(1), plain, `
How many requests are under way at once.`),

	setting("per_host", 0, "write a number above 0, or 0 to let the delay decide", func(c *Config) *int { return &c.PerHost }, integer(0), plain, `
How many of them go to one host. 0 means 1, and as many as concurrency says where delay is 0.`),

	setting("sitemaps", false, "write true or false", func(c *Config) *bool { return &c.Sitemaps }, boolean, plain, `
Whether to visit the pages that a host's sitemaps list.`),

	setting("allow_private", false, "write true or false", func(c *Config) *bool { return &c.AllowPrivate }, boolean, plain, `
Whether links, redirects and references may lead to loopback, private and link-local addresses. An address
that is named on the command line is open without it.`),

	setting("timeout", "30s", "write a duration as in 30s", func(c *Config) *time.Duration { return &c.Timeout }, duration(time.Millisecond), shown, `
How long one request may take, its body included.`),

	setting("max_body", "32MiB", "write a size as in 500000 or 32MiB", func(c *Config) *int64 { return &c.MaxBody }, byteSize, writtenSize, `
How much of one body is taken, after decompression. What is longer is cut and marked.`),

	setting("memory", "auto", "write a size as in 2GiB, or auto", func(c *Config) *int64 { return &c.Memory }, sizeOrAuto, writtenSizeOrAuto, `
How much memory the process should take. Near this limit memory is freed more often, which takes time. The memory for
pages while they are read is limited in any case, and more narrowly if this is below 768MiB. auto is half of the memory
of the machine, or of the limit of its control group.`),

	setting("preserve", true, "write true or false", func(c *Config) *bool { return &c.Preserve }, boolean, plain, `
Whether to keep copies of pages at all, where their publishers permit it.`),

	setting("index", true, "write true or false", func(c *Config) *bool { return &c.Index }, boolean, plain, `
Whether to index pages at all, where their publishers permit it.`),

	setting("compact_within", "1h", "write a duration as in 1h, or 0s to leave that to archive compact", func(c *Config) *time.Duration { return &c.CompactWithin }, duration(0), shown, `
Within how much time after an erasure the archive and the index are compacted while a crawl runs: until then free
space and words of what was erased are still in the files, though nothing can be read or found. 0s leaves it to
archive compact. After a take-down actions.erase_within counts.`),

	setting("signature_key", "", "name a file with an Ed25519 private key in PEM", func(c *Config) *string { return &c.SignatureKey }, text, plain, `
A file with an Ed25519 private key (PEM, PKCS 8) to sign requests with, so that hosts can tell this crawler from
others under its name (Web Bot Auth, RFC 9421).`),

	setting("signature_agent", "", "write a URL as in https://crawler.example.com", func(c *Config) *string { return &c.SignatureAgent }, contact, plain, `
Where the public key is published (Signature-Agent), sent along with signatures.`),

	setting("metrics", "", "write an address with a port as in 127.0.0.1:9090", func(c *Config) *string { return &c.Metrics }, optional(address), plain, `
Where a crawl answers /metrics for Prometheus; nowhere while this is empty.`),

	setting("snippet_length", 250, "write a number above 0", func(c *Config) *int { return &c.SnippetLength }, integer(1), plain, `
The length of a snippet in characters where its publisher sets none.`),

	setting("country_database", "", "name a file as in /var/lib/GeoIP/GeoLite2-Country.mmdb", func(c *Config) *string { return &c.CountryDatabase }, text, plain, `
A database file of countries in MaxMind's format (GeoIP2 or GeoLite2 Country, City or Enterprise, or one like them).
It tells the country of the address that a reader is said to have, where the country itself is not said.`),

	setting("reader_dns", false, "write true or false", func(c *Config) *bool { return &c.ReaderDNS }, boolean, plain, `
Whether to ask DNS for the names of the address that a reader is said to have, where no domain is said. Only a name
that leads back to the address counts. With false nothing is asked.`),

	setting("chromium", "", "name a program as in /usr/bin/chromium", func(c *Config) *string { return &c.Chromium }, text, plain, `
The program that draws pages for thumbnails, Chromium or one like it. It gets nothing from the network: what a page is
drawn with comes through the crawl, as far as that is permitted. Without it only images have thumbnails.`),

	setting("chromium_sandbox", true, "write true or false", func(c *Config) *bool { return &c.ChromiumSandbox }, boolean, plain, `
Whether pages are drawn in Chromium's sandbox. It cannot be had when root runs the crawl; false draws pages without.`),

	setting("check.ignore", []string{}, "as in duplicate-field or agent-name", func(c *Config) *[]string { return &c.Check.Ignore }, list(findingCode), plain, `
Codes of findings that check does not show; it says how many there are. A comment line in a robots.txt can do the same
for that file:
# acapcrawl: ignore duplicate-field, agent-name -- reason`),

	setting("check.notice", []string{}, "as in duplicate-field or agent-name", func(c *Config) *[]string { return &c.Check.Notice }, list(findingCode), plain, `
Codes of findings that check reports as notices, whatever severity they have.`),

	setting("check.warning", []string{}, "as in duplicate-field or agent-name", func(c *Config) *[]string { return &c.Check.Warning }, list(findingCode), plain, `
Codes of findings that check reports as warnings.`),

	setting("check.error", []string{}, "as in duplicate-field or agent-name", func(c *Config) *[]string { return &c.Check.Error }, list(findingCode), plain, `
Codes of findings that check reports as errors.`),

	setting("actions.mode", ActionsDirect, "", func(c *Config) *string { return &c.Actions.Mode }, oneOf(ActionsDirect, ActionsConfirm), plain, `
What it takes for an action request to be executed. direct: a line of robots.txt is enough, and so is a request that came
through serve. confirm: for origins whose publishers have credentials, both have to ask for the same; other origins stay
direct.`),

	setting("actions.confirm_within", "168h", "write a duration as in 168h", func(c *Config) *time.Duration { return &c.Actions.ConfirmWithin }, duration(time.Minute), shown, `
With confirm: how long a request that came through serve waits for its line in robots.txt.`),

	setting("actions.seen_within", "1h", "write a duration from 5m to 24h, or 0s to leave that to crawls", func(c *Config) *time.Duration { return &c.Actions.SeenWithin }, seenWithin, shown, `
Within how much time watch, serve and a running crawl see what robots.txt asks for, of origins of which anything is held. It
is from 5m to 24h; 0s leaves reading robots.txt to the visits of pages.`),

	setting("actions.erase_within", "0s", "write a duration as in 10m, or 0s for at once", func(c *Config) *time.Duration { return &c.Actions.EraseWithin }, duration(0), shown, `
Within how much time after a take-down archive and index are compacted, so that no byte of it is left in any file. Its keys
are destroyed at once in any case. 0s begins at once.`),

	setting("actions.recrawl_again", "24h", "write a duration as in 24h", func(c *Config) *time.Duration { return &c.Actions.RecrawlAgain }, duration(time.Minute), shown, `
After how much time a re-crawl that still stands in robots.txt is done again, and before which one that is asked for anew
waits.`),

	setting("actions.max_pending", 1000, "write a number above 0", func(c *Config) *int { return &c.Actions.MaxPending }, integer(1), plain, `
How many re-crawls of one origin may be pending at once; further ones are refused until some are done.`),

	setting("actions.max_pending_all", 100000, "write a number above 0", func(c *Config) *int { return &c.Actions.MaxPendingAll }, integer(1), plain, `
How many re-crawls may be pending of all origins together.`),

	setting("actions.max_a_day", 5000, "write a number above 0", func(c *Config) *int { return &c.Actions.MaxADay }, integer(1), plain, `
How many re-crawls of one origin are done within 24 hours. Take-downs are under no limit.`),

	setting("actions.max_listed", 1000, "write a number above 0", func(c *Config) *int { return &c.Actions.MaxListed }, integer(1), plain, `
How many requests of an origin that are refused, or of which nothing is held, are listed one by one within 24 hours; of further ones the number is noted.`),

	setting("actions.sub_records", false, "write true or false", func(c *Config) *bool { return &c.Actions.SubRecords }, boolean, plain, `
Whether take-downs that stand in a sub-record, where ACAP has no place for them, are executed.`),

	setting("actions.receipt_key", "", "name a file with an Ed25519 private key in PEM", func(c *Config) *string { return &c.Actions.ReceiptKey }, text, plain, `
A file with an Ed25519 private key (PEM, PKCS 8) to sign receipts and the head of the ledger with. It should not be
signature_key, which signs requests.`),

	setting("listen", "127.0.0.1:8080", "write an address with a port as in 127.0.0.1:8080", func(c *Config) *string { return &c.Listen }, address, plain, `
Where serve listens.`),

	setting("serve.hosts", []string{}, "as in requests.example.org", func(c *Config) *[]string { return &c.Serve.Hosts }, list(hostName), plain, `
The names that serve answers to in the Host header, beside the address that it listens on. Others are refused.`),

	setting("serve.admin_listen", "", "write an address with a port as in 127.0.0.1:8081", func(c *Config) *string { return &c.Serve.AdminListen }, optional(address), plain, `
Where serve answers /healthz and /metrics, without TLS; nowhere if this is empty. Choose an address that only the
operator can reach.`),

	setting("serve.certificate", "", "name a file with a certificate chain in PEM", func(c *Config) *string { return &c.Serve.Certificate }, text, plain, `
A file with the certificate of serve (PEM). Beyond loopback serve speaks TLS, unless a proxy does.`),

	setting("serve.key", "", "name a file with the private key of serve.certificate in PEM", func(c *Config) *string { return &c.Serve.Key }, text, plain, `
A file with the private key that belongs to it.`),

	setting("serve.behind_proxy", false, "write true or false", func(c *Config) *bool { return &c.Serve.BehindProxy }, boolean, plain, `
Whether a proxy that speaks TLS stands before serve, so that it may listen beyond loopback without a certificate. The
address of a client is then the last that X-Forwarded-For names.`),

	setting("log_level", "warn", "", func(c *Config) *slog.Level { return &c.LogLevel }, logLevel, func(l slog.Level) any { return strings.ToLower(l.String()) }, `
What is logged on standard error: debug, info, warn or error.`),
}

// Keys returns the names of all settings.
func Keys() []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// Scopes returns the values of scope.
func Scopes() []string { return []string{"host", "domain", "prefix", "any"} }

// The values of actions.mode.
const (
	ActionsDirect  = "direct"
	ActionsConfirm = "confirm"
)

// The values of policy.dialect.
const (
	Dialect11    = "1.1"
	DialectPilot = "pilot"
)

// Dialects returns the values of policy.dialect.
func Dialects() []string { return []string{Dialect11, DialectPilot} }

const prefix = "ACAPCRAWL_"

// Variable is the environment variable of a key: ACAPCRAWL_POLICY_STRICT for policy.strict.
func Variable(key string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func (k key) variable() string { return Variable(k.name) }

// flag is the name that the command line gives to the setting.
func (k key) flag() string {
	if k.name == "purposes" {
		return "--purpose"
	}
	name := k.name[strings.LastIndexByte(k.name, '.')+1:]
	return "--" + strings.ReplaceAll(name, "_", "-")
}

// misshapen reports whether name, an unknown key, uses a part of k as a value or k as a section.
func (k key) misshapen(name string) bool {
	return strings.HasPrefix(name, k.name+".") || strings.HasPrefix(k.name, name+".")
}

// fallback is the default under env.
func (k key) fallback(env []string) any {
	if k.name == "data" {
		return DefaultData(env)
	}
	return k.standard
}

// directory takes a path. The default is empty where the environment names no home.
func directory(v any) (string, error) {
	s, err := text(v)
	if err == nil && s == "" {
		err = errors.New("no directory is named")
	}
	return s, err
}

func shown(d time.Duration) any { return d.String() }

// declared shows undeclared purposes as null, which no list is.
func declared(p []string) any {
	if p == nil {
		return nil
	}
	return p
}
