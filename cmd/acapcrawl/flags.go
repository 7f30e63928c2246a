package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
)

// settingFlags maps the name of each flag that sets a key of the configuration to that key and to
// the help of the flag. Package config reads and checks the values of these flags like values in
// the configuration file.
var settingFlags = map[string]struct{ key, usage string }{
	"data":       {"data", "store crawls in the directory `DIR`"},
	"log-level":  {"log_level", "log from `LEVEL` up: debug, info, warn, error"},
	"log-format": {"log_format", "write standard error as `FORM`: text, or json (an object in each line)"},
	"crawler": {"crawler", "obey records for the user agent `NAME` (repeatable; the first is sent as " +
		"User-Agent)"},
	"purpose": {"purposes", "declare the purpose `P` (repeatable; '' declares that there is none)"},
	"preferences": {"preferences",
		"obey the vocabulary `NAME` of preferences (repeatable; none turns all off)"},
	"for": {"for", "only where the use `USE` is allowed: train-ai, ai-use, ai-index or tdm (repeatable: all of " +
		"them; none ends this)"},
	"scope":           {"scope", "follow links within `SCOPE`: host, domain, prefix, any"},
	"depth":           {"depth", "follow at most `N` links from a seed"},
	"max-pages":       {"max_pages", "make at most `N` page requests"},
	"delay":           {"delay", "wait `DURATION` between requests to a host"},
	"concurrency":     {"concurrency", "make at most `N` requests at the same time"},
	"per-host":        {"per_host", "make at most `N` requests to one host at the same time"},
	"timeout":         {"timeout", "abort a request after `DURATION`"},
	"sitemaps":        {"sitemaps", "visit the pages that sitemaps list"},
	"include":         {"include", "visit only addresses that match `PATTERN`, for example /news/ (repeatable)"},
	"exclude":         {"exclude", "skip addresses that match `PATTERN`, for example *.iso$ (repeatable)"},
	"render":          {"render", "run the scripts of pages that match `PATTERN` in Chromium (repeatable)"},
	"max-bytes":       {"max_bytes", "start no visit after `N` received bytes"},
	"max-time":        {"max_time", "start no visit after `DURATION`"},
	"min-free":        {"min_free", "stop if less than `SIZE` of the disk is free"},
	"max-body":        {"max_body", "read at most `SIZE` of one body, decompressed"},
	"memory":          {"memory", "use about `SIZE` of memory at most; auto: half of what is available"},
	"max-host-urls":   {"max_host_urls", "store at most `N` addresses of one host"},
	"requisites":      {"requisites", "fetch the images, scripts and styles of pages"},
	"canonical":       {"canonical", "skip a page whose canonical address was fetched"},
	"drop-parameters": {"drop_parameters", "remove the query parameter `NAME` from links (repeatable)"},
	"recrawl-min":     {"recrawl_min", "revisit pages, at the earliest after `DURATION`"},
	"recrawl-max":     {"recrawl_max", "revisit pages, at the latest after `DURATION`"},
	"adaptive":        {"adaptive", "slow down if a host slows down"},
	"per-address":     {"per_address", "share the delay among hosts with the same network address"},
	"preserve":        {"preserve", "archive pages if permitted"},
	"index":           {"index", "index pages if permitted"},
	"chromium":        {"chromium", "render thumbnails and run scripts with `PROGRAM`, Chromium or a browser like it"},
	"contact":         {"contact", "send `URL` in the User-Agent: a page or mailto: address about this crawler"},
	"signature-key":   {"signature_key", "sign requests with the Ed25519 key in `FILE`"},
	"signature-agent": {"signature_agent", "state in each signature that its key is published at `URL`"},
	"credentials": {"credentials", "identify the operator to sites as `FILE` says: users, passwords, header " +
		"fields"},
	"cookies": {"cookies", "send the cookies in `FILE`, in the format of Netscape"},
	"listen":  {"listen", "listen at `ADDRESS`, for example 127.0.0.1:8080"},
	"metrics": {"metrics", "serve /metrics at `ADDRESS` for Prometheus"},
	"cluster": {"cluster", "share the crawl with the other nodes at the NATS servers `URLS`"},
	"node":    {"node", "take part in the cluster as the node `NAME`"},
	"cluster-credentials": {"cluster_credentials", "identify this machine to the NATS servers with the credentials " +
		"in `FILE`"},
	"cluster-tls-ca": {"cluster_tls_ca", "accept NATS servers with certificates of the authorities in `FILE`"},
	"cluster-tls-certificate": {"cluster_tls_certificate",
		"identify this machine to the NATS servers with the certificate in `FILE`"},
	"cluster-tls-key": {"cluster_tls_key", "the private key of that certificate is in `FILE`"},
	"cluster-key-file": {"cluster_key_file",
		"copy records and keys of pages, encrypted with the key in `FILE`, so that they can be recovered"},
	"partitions": {"partitions", "divide the hosts of a new cluster into `N` partitions"},
	"lease":      {"lease", "take over the partitions of a node that is silent for `DURATION`"},
	"lease-margin": {"lease_margin",
		"make no request within `DURATION` of the end of a lease; clocks may differ by half of it"},
	"wait":          {"wait", "without a seed, wait `DURATION` until another node names one"},
	"allow-private": {"allow_private", "fetch from loopback, private and link-local addresses that are not named"},
	"strict":        {"policy.strict", "use the strict variants of the readings"},
	"dialect": {"policy.dialect",
		"accept in pages the forms of `DIALECT`: 1.1, or pilot for those of 2007 too"},
}

const keyOfFlag = "key"

// setting adds the flag name of settingFlags to flags.
func setting(flags *pflag.FlagSet, name string) {
	s := settingFlags[name]
	switch name {
	case "crawler", "purpose", "preferences", "for", "include", "exclude", "drop-parameters":
		flags.StringArray(name, nil, s.usage)
	case "sitemaps", "allow-private", "strict", "requisites", "canonical", "per-address":
		flags.Bool(name, false, s.usage)
	case "adaptive", "preserve", "index":
		flags.Bool(name, true, s.usage)
	default:
		flags.String(name, "", s.usage)
	}
	flags.SetAnnotation(name, keyOfFlag, []string{s.key}) // cannot fail: the flag exists
	flags.SetAnnotation(name, wordsOfFlag, settingWords(name))
}

// judgedCrawler adds the flag --crawler to a verb that can decide for another crawler than the
// configured one.
func judgedCrawler(flags *pflag.FlagSet) {
	setting(flags, "crawler")
	flags.Lookup("crawler").Usage = "decide for the user agent `NAME` (repeatable); requests are still sent under " +
		"the configured name"
}

// settings loads the configuration. Flags on the command line of cmd override the configuration
// file and the environment.
func (c *Command) settings(cmd *cobra.Command) (*config.Config, error) {
	return c.sharedSettings(cmd, nil, false)
}

// sharedSettings returns the settings of the verb cmd on a machine that takes part in a cluster with the settings
// shared. They replace the defaults; if first is true, also all other sources.
func (c *Command) sharedSettings(cmd *cobra.Command, shared map[string]any, first bool) (*config.Config, error) {
	in := config.Input{File: c.configFile(cmd), Env: c.Env, Flags: map[string]any{}, Judges: c.verb != "crawl",
		Shared: shared, SharedFirst: first, Job: c.job, Text: c.configText}
	if in.Text == nil {
		if err := c.readable(in.File); err != nil {
			return nil, err
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		key := f.Annotations[keyOfFlag]
		if len(key) == 0 {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			in.Flags[key[0]] = list.GetSlice()
			return
		}
		in.Flags[key[0]] = f.Value.String()
	})
	cfg, err := config.Load(in)
	if err != nil {
		return nil, err
	}
	return cfg, c.completeSettings(cfg)
}

// completeSettings makes the names of files in cfg relative to the directory in which the verb was called, and checks
// the data directory. It applies log_format to standard error.
func (c *Command) completeSettings(cfg *config.Config) error {
	if cfg.LogFormat == config.LogJSON && c.owner == nil { // the process of a guest converts what the guest prints
		newProgress(c.Stderr).WriteJSON()
	}
	for _, file := range []*string{&cfg.SignatureKey, &cfg.Credentials, &cfg.Cookies, &cfg.CountryDatabase,
		&cfg.Actions.ReceiptKey, &cfg.Serve.Certificate, &cfg.Serve.Key} {
		*file = c.path(*file)
	}
	// a name without a separator stays unchanged, because it is searched in PATH
	if strings.ContainsRune(cfg.Chromium, filepath.Separator) {
		cfg.Chromium = c.path(cfg.Chromium)
	}
	if c.owner != nil {
		cfg.Data = c.owner.Dir()
	} else if info, err := os.Stat(cfg.Data); err == nil && !info.IsDir() {
		return misuse("a directory with --data", "%s is a file, not a data directory", cfg.Data)
	}
	return nil
}

// fileVariable is the environment variable that names the configuration file. The flag --config
// takes precedence.
const fileVariable = "ACAPCRAWL_CONFIG"

// configFile returns the configuration file that the user named, "" for none.
func (c *Command) configFile(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("config"); f.Changed {
		return c.path(f.Value.String())
	}
	for _, pair := range slices.Backward(c.Env) {
		if file, ok := strings.CutPrefix(pair, fileVariable+"="); ok {
			return c.path(file)
		}
	}
	return ""
}

// judging holds the arguments of decisions about archived pages: the time, the reader, and whether
// to read the policies again.
type judging struct {
	AsOf    time.Time // the time of the decisions; zero: now
	Reader  acap.Target
	Known   bool // nothing more about the reader is to be found out
	Refresh bool // read the policies again first
}

// judgingFlags adds flags to cmd. names are as-of, reader, refresh, and from-now, which adds a flag
// --as-of that rejects times before now. judgingFlags returns a function that reads the values of
// the flags.
func judgingFlags(cmd *cobra.Command, names ...string) func() (judging, error) {
	flags := cmd.Flags()
	for _, name := range names {
		switch name {
		case "as-of", "from-now":
			flags.String("as-of", "", "apply time limits as of `TIME` (RFC 3339)")
		case "reader":
			flags.String("reader-ip", "", "the reader's network `ADDRESS`")
			flags.String("reader-domain", "", "the reader's verified `DOMAIN`")
			flags.String("reader-country", "", "the reader's country, a `CODE` of two letters")
		case "refresh":
			flags.Bool(name, false, "read robots.txt and its references again first")
		}
	}
	return func() (j judging, err error) {
		text := func(name string) string {
			if f := flags.Lookup(name); f != nil && f.Changed {
				return f.Value.String()
			}
			return ""
		}
		if j.AsOf, err = timeFlag(flags, "as-of"); err != nil {
			return j, err
		}
		if ip := text("reader-ip"); ip != "" {
			if j.Reader.IP, err = netip.ParseAddr(ip); err != nil {
				return j, misuse("--reader-ip 192.0.2.1", "--reader-ip: %q is not an IP address", ip)
			}
		}
		if d := text("reader-domain"); d != "" {
			if !domain.MatchString(d) {
				return j, misuse("--reader-domain host.example.com", "--reader-domain: %q is not a domain name", d)
			}
			j.Reader.Domains = []string{strings.ToLower(strings.TrimSuffix(d, "."))}
		}
		if code := text("reader-country"); code != "" {
			if !country.MatchString(code) {
				return j, misuse("--reader-country BE", "--reader-country: %q is not a country code of two letters "+
					"(ISO 3166)", code)
			}
			j.Reader.Country = strings.ToUpper(code)
		}
		if f := flags.Lookup("refresh"); f != nil {
			j.Refresh = f.Value.String() == "true"
		}
		if slices.Contains(names, "from-now") {
			err = notBefore(time.Now(), j.AsOf)
		}
		return j, err
	}
}

var (
	domain  = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)
	country = regexp.MustCompile(`^[A-Za-z]{2}$`)
)

// timeFlag returns the time of the flag name, zero if the flag does not exist or was not given.
func timeFlag(flags *pflag.FlagSet, name string) (time.Time, error) {
	f := flags.Lookup(name)
	if f == nil || !f.Changed {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, f.Value.String())
	if err != nil {
		return time.Time{}, misuse("--"+name+" 2026-01-31T12:00:00Z",
			"--%s: %q is not a time in the format of RFC 3339", name, f.Value.String())
	}
	return t.UTC(), nil
}

// notBefore returns an error if asOf is before now, in whole seconds.
func notBefore(now, asOf time.Time) error {
	if !asOf.IsZero() && asOf.Before(now.Truncate(time.Second)) {
		return misuse("", "--as-of: %s has passed; the clock can only be set forward", asOf.Format(time.RFC3339))
	}
	return nil
}

// flagNames returns the flags that cmd takes, without hidden ones.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
