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

// settingFlags are the flags that set a key of the configuration, with that key and their help. They are read and checked by
// config, as the file is.
var settingFlags = map[string]struct{ key, usage string }{
	"data":            {"data", "keep what is crawled in `DIR`"},
	"log-level":       {"log_level", "log from `LEVEL` up: debug, info, warn, error"},
	"crawler":         {"crawler", "answer to `NAME` (repeatable; the first is sent as User-Agent)"},
	"purpose":         {"purposes", "collect for purpose `P` (repeatable; '' declares that there is none)"},
	"scope":           {"scope", "follow links within `SCOPE`: host, domain, prefix, any"},
	"depth":           {"depth", "go at most `N` links away from a seed"},
	"max-pages":       {"max_pages", "make at most `N` page requests"},
	"delay":           {"delay", "wait `DURATION` between requests to a host"},
	"concurrency":     {"concurrency", "have at most `N` requests under way"},
	"per-host":        {"per_host", "have at most `N` of them under way to one host"},
	"timeout":         {"timeout", "give up a request after `DURATION`"},
	"sitemaps":        {"sitemaps", "visit what sitemaps list"},
	"include":         {"include", "visit addresses like `PATTERN` alone, as in /news/ (repeatable)"},
	"exclude":         {"exclude", "do not visit addresses like `PATTERN`, as in *.iso$ (repeatable)"},
	"max-bytes":       {"max_bytes", "begin no more visits after `N` bytes"},
	"max-time":        {"max_time", "begin no more visits after `DURATION`"},
	"min-free":        {"min_free", "stop when less than `SIZE` is free on the disk"},
	"max-body":        {"max_body", "take at most `SIZE` of one body, after decompression"},
	"memory":          {"memory", "take about `SIZE` of memory at most; auto: half of what there is"},
	"max-host-urls":   {"max_host_urls", "note at most `N` addresses of one host"},
	"requisites":      {"requisites", "fetch what pages are shown with: images, scripts, styles"},
	"canonical":       {"canonical", "leave a page to its canonical address where that was fetched"},
	"drop-parameters": {"drop_parameters", "follow links without the query parameter `NAME` (repeatable)"},
	"recrawl-min":     {"recrawl_min", "visit pages again, not before `DURATION`"},
	"recrawl-max":     {"recrawl_max", "visit pages again after `DURATION` at the latest"},
	"adaptive":        {"adaptive", "go slower where a host gets slower"},
	"per-address":     {"per_address", "share the delay among hosts at one network address"},
	"preserve":        {"preserve", "keep copies where that is permitted"},
	"index":           {"index", "index pages where that is permitted"},
	"chromium":        {"chromium", "draw pages for thumbnails with `PROGRAM`, Chromium or one like it"},
	"contact":         {"contact", "send `URL` in the User-Agent, a page or mailto: address about this crawler"},
	"signature-key":   {"signature_key", "sign requests with the Ed25519 key in `FILE`"},
	"signature-agent": {"signature_agent", "say with each signature that its key is at `URL`"},
	"listen":          {"listen", "listen at `ADDRESS`, as in 127.0.0.1:8080"},
	"metrics":         {"metrics", "answer /metrics at `ADDRESS` for Prometheus"},
	"allow-private":   {"allow_private", "go to loopback, private and link-local addresses that were not named"},
	"strict":          {"policy.strict", "take the strict variants of the readings"},
	"dialect":         {"policy.dialect", "honour the forms of `DIALECT` in pages: 1.1, or pilot for those of 2007 too"},
}

const keyOfFlag = "key"

// setting adds the flag name of settingFlags to flags.
func setting(flags *pflag.FlagSet, name string) {
	s := settingFlags[name]
	switch name {
	case "crawler", "purpose", "include", "exclude", "drop-parameters":
		flags.StringArray(name, nil, s.usage)
	case "sitemaps", "allow-private", "strict", "requisites", "canonical", "per-address":
		flags.Bool(name, false, s.usage)
	case "adaptive", "preserve", "index":
		flags.Bool(name, true, s.usage)
	default:
		flags.String(name, "", s.usage)
	}
	flags.SetAnnotation(name, keyOfFlag, []string{s.key}) // fails only for a flag that does not exist
}

// judgedCrawler adds --crawler to a verb that judges for the crawler of that name.
func judgedCrawler(flags *pflag.FlagSet) {
	setting(flags, "crawler")
	flags.Lookup("crawler").Usage = "judge for the crawler that answers to `NAME` (repeatable); requests are sent under the configured name"
}

// settings loads the configuration under the flags that were given to cmd.
func (c *Command) settings(cmd *cobra.Command) (*config.Config, error) {
	in := config.Input{File: c.configFile(cmd), Env: c.Env, Flags: map[string]any{}, Judges: c.verb != "crawl"}
	if err := c.readable(in.File); err != nil {
		return nil, err
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
	for _, file := range []*string{&cfg.SignatureKey, &cfg.CountryDatabase, &cfg.Actions.ReceiptKey, &cfg.Serve.Certificate, &cfg.Serve.Key} {
		*file = c.path(*file)
	}
	if strings.ContainsRune(cfg.Chromium, filepath.Separator) { // else it is looked for as a shell does
		cfg.Chromium = c.path(cfg.Chromium)
	}
	if c.owner != nil {
		cfg.Data = c.owner.dir
	} else if info, err := os.Stat(cfg.Data); err == nil && !info.IsDir() {
		return nil, misuse("a directory with --data", "%s is a file, and no data directory", cfg.Data)
	}
	return cfg, nil
}

// fileVariable names the configuration file where --config does not.
const fileVariable = "ACAPCRAWL_CONFIG"

// configFile is the file that the user named, "" for none.
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

// judging is under which clock and for which reader a use of what is held is judged.
type judging struct {
	AsOf    time.Time // zero: now
	Reader  acap.Target
	Refresh bool // read the policies anew first
}

// judgingFlags adds the flags of judging to cmd, those named only; the function returned reads them. With from-now it is --as-of that
// takes no time before now.
func judgingFlags(cmd *cobra.Command, names ...string) func() (judging, error) {
	flags := cmd.Flags()
	for _, name := range names {
		switch name {
		case "as-of", "from-now":
			flags.String("as-of", "", "judge time limits as of `TIME` (RFC 3339)")
		case "reader":
			flags.String("reader-ip", "", "the reader's `ADDRESS`")
			flags.String("reader-domain", "", "the reader's verified `DOMAIN`")
			flags.String("reader-country", "", "the reader's country, a `CODE` of two letters")
		case "refresh":
			flags.Bool(name, false, "read robots.txt and its references anew first")
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
				return j, misuse("--reader-country BE", "--reader-country: %q is not a country code of two letters (ISO 3166)", code)
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

// timeFlag reads the flag name, which need not exist; zero when it was not given.
func timeFlag(flags *pflag.FlagSet, name string) (time.Time, error) {
	f := flags.Lookup(name)
	if f == nil || !f.Changed {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, f.Value.String())
	if err != nil {
		return time.Time{}, misuse("--"+name+" 2026-01-31T12:00:00Z", "--%s: %q is not a time as RFC 3339 writes it", name, f.Value.String())
	}
	return t.UTC(), nil
}

// notBefore refuses a time limit clock that is set back. Now has whole seconds, as a script would write it.
func notBefore(now, asOf time.Time) error {
	if !asOf.IsZero() && asOf.Before(now.Truncate(time.Second)) {
		return misuse("", "--as-of: %s has passed; the clock can only be set forward", asOf.Format(time.RFC3339))
	}
	return nil
}

// flagNames returns the flags that cmd takes.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
