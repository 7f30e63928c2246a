package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
)

// home returns an environment with a home directory and without settings of acapcrawl.
func home(t *testing.T, more ...string) []string {
	return append([]string{"HOME=" + t.TempDir()}, more...)
}

func file(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, in config.Input) *config.Config {
	t.Helper()
	c, err := config.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	env := home(t)
	c := load(t, config.Input{Env: env})
	if want := filepath.Join(strings.TrimPrefix(env[0], "HOME="), ".local/share/acapcrawl"); c.Data != want {
		t.Errorf("data is %s, want %s", c.Data, want)
	}
	if !slices.Equal(c.Crawler, []string{"acapcrawl"}) || c.Purposes != nil || c.Scope != "host" ||
		c.Depth != config.Unlimited ||
		c.MaxPages != config.Unlimited || c.Delay != time.Second || c.AllowPrivate || c.Policy.Strict || c.File != "" {
		t.Errorf("unexpected defaults: %+v", c)
	}
	for _, v := range c.Values() {
		if v.Origin.String() != "default" {
			t.Errorf("%s comes from %s", v.Key, v.Origin)
		}
	}
}

func TestRecrawlMaxIsNoLessThanMin(t *testing.T) {
	c := load(t, config.Input{Env: home(t), Flags: map[string]any{"recrawl_min": "2h", "recrawl_max": "1h"}})
	if c.RecrawlMax != 2*time.Hour {
		t.Errorf("recrawl_max is %s", c.RecrawlMax)
	}
}

func TestDataFollowsXDG(t *testing.T) {
	for _, c := range []struct{ xdg, want string }{
		{"/srv/share", "/srv/share/acapcrawl"},
		{"share", "/home/u/.local/share/acapcrawl"}, // a relative path is ignored
		{"", "/home/u/.local/share/acapcrawl"},
	} {
		got := load(t, config.Input{Env: []string{"HOME=/home/u", "XDG_DATA_HOME=" + c.xdg}})
		if got.Data != c.want {
			t.Errorf("XDG_DATA_HOME=%q: data is %s, want %s", c.xdg, got.Data, c.want)
		}
	}
	if got := load(t, config.Input{Env: []string{"HOME=/home/u",
		"ACAPCRAWL_DATA=~/crawl"}}); got.Data != "/home/u/crawl" {
		t.Errorf("data is %s", got.Data)
	}
	if _, err := config.Load(config.Input{}); err == nil {
		t.Error("no home and no data directory: no error")
	}
}

func TestPrecedence(t *testing.T) {
	path := file(t, "c.yaml", "delay: 4s\ndepth: 4\nmax_pages: 4\npolicy:\n  strict: true\n")
	c := load(t, config.Input{
		File:  path,
		Env:   home(t, "ACAPCRAWL_DELAY=3s", "ACAPCRAWL_DEPTH=3", "ACAPCRAWL_SCOPE="),
		Flags: map[string]any{"delay": "2s"},
	})
	if c.Delay != 2*time.Second || c.Depth != 3 || c.MaxPages != 4 || !c.Policy.Strict || c.Scope != "host" {
		t.Errorf("delay %v, depth %d, max_pages %d, strict %v, scope %s", c.Delay, c.Depth, c.MaxPages, c.Policy.Strict,
			c.Scope)
	}
	for key, want := range map[string]string{
		"delay":         "flag --delay",
		"depth":         "environment variable ACAPCRAWL_DEPTH",
		"max_pages":     "file " + path,
		"policy.strict": "file " + path,
		"scope":         "default",
	} {
		if got := c.Origin(key).String(); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
}

// Every key can be set in a file of each format, in the environment and by a flag, with the same
// result.
func TestEveryKeyEverywhere(t *testing.T) {
	values := map[string]struct{ yaml, env, want string }{
		"data":    {"/srv/crawl", "/srv/crawl", "/srv/crawl"},
		"crawler": {"[one, two]", "one,two", "[one two]"},
		"purposes": {"[news, 'http://p.example/x']", "news, http://p.example/x",
			"[news http://p.example/x]"},
		"cannot":             {"[max-length]", "max-length", "[max-length]"},
		"preferences":        {"[tdmrep, noai]", "tdmrep,noai", "[tdmrep noai]"},
		"tdmrep_covers_ai":   {"false", "false", "false"},
		"content_signal_use": {"false", "false", "false"},
		"operator_kind":      {"education", "education", "education"},
		"for":                {"[train-ai, tdm]", "train-ai,TDM", "[train-ai tdm]"},
		"operator_country":   {"FR", "FR", "FR"},
		"contact": {"'https://example.com/bot'", "https://example.com/bot",
			"https://example.com/bot"},
		"policy.strict":             {"true", "true", "true"},
		"policy.dialect":            {"pilot", "pilot", "pilot"},
		"policy.noarchive_preserve": {"true", "1", "true"},
		"scope":                     {"prefix", "prefix", "prefix"},
		"depth":                     {"0", "0", "0"},
		"max_pages":                 {"7", "7", "7"},
		"include": {"['/news/*', 'https://example.com/a']", "/news/*,https://example.com/a",
			"[/news/* https://example.com/a]"},
		"exclude":                   {"['*.iso', '/tmp/']", "*.iso,/tmp/", "[*.iso /tmp/]"},
		"max_bytes":                 {"500MB", "500000000", "500000000"},
		"max_time":                  {"8h", "8h", "8h0m0s"},
		"min_free":                  {"1GB", "1GB", "1000000000"},
		"max_host_urls":             {"9", "9", "9"},
		"requisites":                {"true", "1", "true"},
		"canonical":                 {"true", "1", "true"},
		"drop_parameters":           {"[sid, 'utm_*']", "sid,utm_*", "[sid utm_*]"},
		"recrawl_min":               {"24h", "24h", "24h0m0s"},
		"recrawl_max":               {"48h", "48h", "48h0m0s"},
		"adaptive":                  {"false", "0", "false"},
		"per_address":               {"true", "1", "true"},
		"preserve":                  {"false", "false", "false"},
		"index":                     {"false", "false", "false"},
		"compact_within":            {"30m", "30m", "30m0s"},
		"signature_key":             {"/etc/key.pem", "/etc/key.pem", "/etc/key.pem"},
		"credentials":               {"/etc/c.yaml", "/etc/c.yaml", "/etc/c.yaml"},
		"cookies":                   {"/etc/c.txt", "/etc/c.txt", "/etc/c.txt"},
		"keep_credentials":          {"true", "true", "true"},
		"signature_agent":           {"'https://example.com'", "https://example.com", "https://example.com"},
		"metrics":                   {"'127.0.0.1:9090'", "127.0.0.1:9090", "127.0.0.1:9090"},
		"delay":                     {"0", "0", "0s"},
		"concurrency":               {"3", "3", "3"},
		"per_host":                  {"2", "2", "2"},
		"sitemaps":                  {"true", "true", "true"},
		"allow_private":             {"true", "TRUE", "true"},
		"timeout":                   {"90s", "90s", "1m30s"},
		"max_body":                  {"2MiB", "2097152", "2MiB"},
		"memory":                    {"2GiB", "2147483648", "2GiB"},
		"render":                    {"[/app/]", "/app/", "[/app/]"},
		"render_time":               {"5s", "5s", "5s"},
		"render_requests":           {"5", "5", "5"},
		"render_bytes":              {"1MiB", "1MiB", "1MiB"},
		"render_screens":            {"0", "0", "0"},
		"snippet_length":            {"80", "80", "80"},
		"country_database":          {"/var/lib/c.mmdb", "/var/lib/c.mmdb", "/var/lib/c.mmdb"},
		"reader_dns":                {"true", "1", "true"},
		"chromium":                  {"/usr/bin/chromium", "/usr/bin/chromium", "/usr/bin/chromium"},
		"chromium_sandbox":          {"false", "0", "false"},
		"listen":                    {"'[::1]:80'", "[::1]:80", "[::1]:80"},
		"log_level":                 {"debug", "debug", "debug"},
		"log_format":                {"json", "json", "json"},
		"check.ignore":              {"[duplicate-field]", "duplicate-field", "[duplicate-field]"},
		"check.notice":              {"[agent-name, html]", "agent-name,html", "[agent-name html]"},
		"check.warning":             {"[html]", "html", "[html]"},
		"check.error":               {"[html]", "html", "[html]"},
		"actions.mode":              {"confirm", "confirm", "confirm"},
		"actions.confirm_within":    {"24h", "24h", "24h0m0s"},
		"actions.seen_within":       {"5m", "5m", "5m0s"},
		"actions.erase_within":      {"10m", "10m", "10m0s"},
		"actions.recrawl_again":     {"1h", "1h", "1h0m0s"},
		"actions.max_pending":       {"7", "7", "7"},
		"actions.max_pending_all":   {"70", "70", "70"},
		"actions.max_a_day":         {"8", "8", "8"},
		"actions.max_listed":        {"9", "9", "9"},
		"actions.sub_records":       {"true", "1", "true"},
		"actions.receipt_key":       {"/etc/r.pem", "/etc/r.pem", "/etc/r.pem"},
		"serve.public_hosts":        {"[a.example, '[::1]']", "a.example,[::1]", "[a.example [::1]]"},
		"s3.endpoint":               {"https://s3.example.com/", "https://s3.example.com", "https://s3.example.com"},
		"s3.bucket":                 {"pages", "pages", "pages"},
		"s3.prefix":                 {"/crawls/one/", "crawls/one", "crawls/one"},
		"s3.region":                 {"eu-west-1", "eu-west-1", "eu-west-1"},
		"s3.unversioned":            {"true", "true", "true"},
		"cluster":                   {"'nats://a:4222/, tls://b'", "nats://a:4222,tls://b", "nats://a:4222,tls://b"},
		"node":                      {"a-1", "a-1", "a-1"},
		"cluster_credentials":       {"/etc/n.creds", "/etc/n.creds", "/etc/n.creds"},
		"cluster_tls_ca":            {"/etc/ca.pem", "/etc/ca.pem", "/etc/ca.pem"},
		"cluster_tls_certificate":   {"/etc/n.pem", "/etc/n.pem", "/etc/n.pem"},
		"cluster_tls_key":           {"/etc/n.key", "/etc/n.key", "/etc/n.key"},
		"cluster_key_file":          {"/etc/c.key", "/etc/c.key", "/etc/c.key"},
		"partitions":                {"16", "16", "16"},
		"lease":                     {"6s", "6s", "6s"},
		"lease_margin":              {"2s", "2s", "2s"},
		"wait":                      {"5s", "5s", "5s"},
		"serve.replay_domain":       {"replay.example.net", "replay.example.net", "replay.example.net"},
		"serve.admin_listen":        {"'[::1]:81'", "[::1]:81", "[::1]:81"},
		"serve.certificate":         {"/etc/c.pem", "/etc/c.pem", "/etc/c.pem"},
		"serve.key":                 {"/etc/k.pem", "/etc/k.pem", "/etc/k.pem"},
		"serve.trusted_proxies":     {"[192.0.2.7, 'fd00::/8']", "192.0.2.7,fd00::/8", "[192.0.2.7 fd00::/8]"},
		"serve.operator_password":   {"$2a$10$x", "$2a$10$x", "$2a$10$x"},
		"serve.readers":             {"login", "login", "login"},
		"serve.requests_per_second": {"5", "5", "5"},
		"serve.burst":               {"5", "5", "5"},
		"serve.client_connections":  {"5", "5", "5"},
		"serve.connections":         {"5", "5", "5"},
	}
	for _, key := range config.Keys() {
		v, ok := values[key]
		if !ok {
			t.Errorf("%s: no sample here", key)
			continue
		}
		yaml := key + ": " + v.yaml
		if section, name, nested := strings.Cut(key, "."); nested {
			yaml = section + ":\n  " + name + ": " + v.yaml
		}
		for way, in := range map[string]config.Input{
			"file":        {File: file(t, "c.yaml", yaml), Env: home(t)},
			"environment": {Env: home(t, config.Variable(key)+"="+v.env)},
			"flag":        {Env: home(t), Flags: map[string]any{key: v.env}},
		} {
			c, err := config.Load(in)
			if err != nil {
				t.Errorf("%s by %s: %v", key, way, err)
				continue
			}
			got := c.Values()[slices.Index(config.Keys(), key)]
			if text := strings.Trim(strings.ReplaceAll(fmt.Sprint(got.Value), `"`, ""), " "); text != v.want ||
				string(got.Origin.Kind) != way {
				t.Errorf("%s by %s: got %s from %s, want %s", key, way, text, got.Origin, v.want)
			}
		}
	}
}

func TestFormats(t *testing.T) {
	for name, text := range map[string]string{
		"c.yaml": "depth: 2\npolicy: {strict: true}\n",
		"c.conf": "depth: 2\npolicy: {strict: true}\n",
		"c.json": `{"depth": 2, "policy": {"strict": true}}`,
		"c.toml": "depth = 2\n[policy]\nstrict = true\n",
	} {
		c := load(t, config.Input{File: file(t, name, text), Env: home(t)})
		if c.Depth != 2 || !c.Policy.Strict {
			t.Errorf("%s: depth %d, strict %v", name, c.Depth, c.Policy.Strict)
		}
	}
}

func TestPurposes(t *testing.T) {
	for name, c := range map[string]struct {
		in   config.Input
		want []string
	}{
		"nothing said":        {config.Input{}, nil},
		"undeclared in words": {config.Input{File: file(t, "c.yaml", "purposes: undeclared")}, nil},
		"none, file":          {config.Input{File: file(t, "c.yaml", "purposes: []")}, []string{}},
		"none, environment":   {config.Input{Env: []string{"ACAPCRAWL_PURPOSES=[]"}}, []string{}},
		"none, flag":          {config.Input{Flags: map[string]any{"purposes": []string{""}}}, []string{}},
		"one text":            {config.Input{File: file(t, "c.yaml", "purposes: news")}, []string{"news"}},
		"a comma in a name": {config.Input{Env: []string{`ACAPCRAWL_PURPOSES=["http://p.example/a,b"]`}},
			[]string{"http://p.example/a,b"}},
		"a comma in a flag": {config.Input{Flags: map[string]any{"purposes": []string{"http://p.example/a,b"}}},
			[]string{"http://p.example/a,b"}},
		"said twice": {config.Input{Flags: map[string]any{"purposes": []string{"news", "news"}}},
			[]string{"news"}},
	} {
		c.in.Env = append(c.in.Env, home(t)...)
		got := load(t, c.in).Purposes
		if !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %#v, want %#v", name, got, c.want)
		}
	}
}

func TestPerHostFollowsDelay(t *testing.T) {
	for name, c := range map[string]struct {
		flags map[string]any
		want  int
	}{
		"polite":   {map[string]any{"concurrency": "9"}, 1},
		"own host": {map[string]any{"concurrency": "9", "delay": "0"}, 9},
		"said":     {map[string]any{"concurrency": "9", "delay": "0", "per_host": "4"}, 4},
	} {
		if got := load(t, config.Input{Env: home(t), Flags: c.flags}).PerHost; got != c.want {
			t.Errorf("%s: %d requests to a host at once, want %d", name, got, c.want)
		}
	}
}

// Each error names the key and the file. All errors are reported, not only the first.
func TestStrict(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		keys []string
	}{
		"unknown key":                {"delai: 1s\n", []string{"delai"}},
		"unknown section":            {"crawl:\n  delay: 1s\n", []string{"crawl.delay"}},
		"unknown and empty":          {"colour:\n", []string{"colour"}},
		"known and empty":            {"delay:\n", []string{"delay"}},
		"section as a value":         {"policy: strict\n", []string{"policy"}},
		"value as a section":         {"delay: {a: b}\n", []string{"delay.a"}},
		"two mistakes":               {"colour: red\ndepth: deep\n", []string{"colour", "depth"}},
		"duration without unit":      {"delay: 5\n", []string{"delay"}},
		"negative delay":             {"delay: -1s\n", []string{"delay"}},
		"timeout 0":                  {"timeout: 0\n", []string{"timeout"}},
		"text for a number":          {"depth: two\n", []string{"depth"}},
		"fraction":                   {"depth: 1.5\n", []string{"depth"}},
		"no pages at all":            {"max_pages: 0\n", []string{"max_pages"}},
		"no requests at all":         {"concurrency: 0\n", []string{"concurrency"}},
		"yes is not true":            {"sitemaps: yes\n", []string{"sitemaps"}},
		"number for a boolean":       {"sitemaps: 1\n", []string{"sitemaps"}},
		"unknown scope":              {"scope: world\n", []string{"scope"}},
		"no name":                    {"crawler: []\n", []string{"crawler"}},
		"everyone's name":            {"crawler: ['*']\n", []string{"crawler"}},
		"a name with a blank":        {"crawler: [my bot]\n", []string{"crawler"}},
		"a name with a version":      {"crawler: [bot/1.0]\n", []string{"crawler"}},
		"a number as a name":         {"crawler: [7]\n", []string{"crawler"}},
		"purpose with a blank":       {"purposes: ['a b']\n", []string{"purposes"}},
		"header splitting":           {"contact: \"http://x/\\r\\nCookie: a\"\n", []string{"contact"}},
		"contact without scheme":     {"contact: example.com\n", []string{"contact"}},
		"size in words":              {"max_body: much\n", []string{"max_body"}},
		"size beyond all":            {"max_body: 999999999GiB\n", []string{"max_body"}},
		"listen without a port":      {"listen: localhost\n", []string{"listen"}},
		"unknown log level":          {"log_level: loud\n", []string{"log_level"}},
		"unknown log format":         {"log_format: xml\n", []string{"log_format"}},
		"seen too often":             {"actions:\n  seen_within: 4m\n", []string{"actions.seen_within"}},
		"seen too seldom":            {"actions:\n  seen_within: 25h\n", []string{"actions.seen_within"}},
		"a host with a port":         {"serve:\n  public_hosts: ['a.example:80']\n", []string{"serve.public_hosts"}},
		"a host with a path":         {"serve:\n  public_hosts: [a.example/x]\n", []string{"serve.public_hosts"}},
		"a proxy without an address": {"serve:\n  trusted_proxies: [proxy]\n", []string{"serve.trusted_proxies"}},
		"a password itself":          {"serve:\n  operator_password: secret\n", []string{"serve.operator_password"}},
		"other readers":              {"serve:\n  readers: nobody\n", []string{"serve.readers"}},
		"a host with a blank":        {"serve:\n  public_hosts: ['a b']\n", []string{"serve.public_hosts"}},
		"pattern without root":       {"include: [news]\n", []string{"include"}},
		"an empty pattern":           {"exclude: [/a, '']\n", []string{"exclude"}},
		"parameter with a value":     {"drop_parameters: [a=b]\n", []string{"drop_parameters"}},
		"no bytes at all":            {"max_bytes: 0\n", []string{"max_bytes"}},
		"metrics without a port":     {"metrics: localhost\n", []string{"metrics"}},
		"qualifier with a value":     {"cannot: [time-limit=3-days]\n", []string{"cannot"}},
	} {
		path := file(t, "c.yaml", c.text)
		_, err := config.Load(config.Input{File: path, Env: home(t)})
		var keys []string
		for _, e := range all(err) {
			if e.Where != path {
				t.Errorf("%s: named %s as the place", name, e.Where)
			}
			if !strings.Contains(e.Error(), path) || !strings.Contains(e.Error(), e.Key) ||
				strings.Contains(e.Error(), "\n") {
				t.Errorf("%s: %q does not name file and key on one line", name, e.Error())
			}
			keys = append(keys, e.Key)
		}
		if slices.Sort(keys); !slices.Equal(keys, c.keys) {
			t.Errorf("%s: errors for %q, want %q (%v)", name, keys, c.keys, err)
		}
	}
}

func TestMistakesElsewhere(t *testing.T) {
	for want, in := range map[string]config.Input{
		"environment variable ACAPCRAWL_DELAY": {Env: home(t, "ACAPCRAWL_DELAY=soon")},
		"flag --max-pages":                     {Env: home(t), Flags: map[string]any{"max_pages": "many"}},
		"flag --purpose":                       {Env: home(t), Flags: map[string]any{"purposes": []string{"a b"}}},
	} {
		_, err := config.Load(in)
		if es := all(err); len(es) != 1 || es[0].Where != want || es[0].Hint == "" {
			t.Errorf("got %v, want a mistake of %s with a hint", err, want)
		}
	}
}

func TestSuggestion(t *testing.T) {
	_, err := config.Load(config.Input{File: file(t, "c.yaml", "max_page: 1"), Env: home(t)})
	if es := all(err); len(es) != 1 || es[0].Hint != "write max_pages" {
		t.Errorf("got %+v", es)
	}
	for _, c := range []struct{ slip, want string }{{"dealy", "delay"}, {"scop", "scope"}, {"unlike-anything", ""},
		{"x", ""}} {
		if got := config.Nearest(c.slip, config.Keys()); got != c.want {
			t.Errorf("%s: %q, want %q", c.slip, got, c.want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for name, path := range map[string]string{
		"missing":      filepath.Join(t.TempDir(), "none.yaml"),
		"a directory":  t.TempDir(),
		"not yaml":     file(t, "c.yaml", "delay: [1s\n"),
		"twice a key":  file(t, "c.yaml", "delay: 1s\ndelay: 2s\n"),
		"not a map":    file(t, "c.yaml", "- delay\n"),
		"broken json":  file(t, "c.json", "{"),
		"broken toml":  file(t, "c.toml", "delay = "),
		"binary bytes": file(t, "c.yaml", "\x00\xff\x01"),
	} {
		_, err := config.Load(config.Input{File: path, Env: home(t)})
		if es := all(err); len(es) != 1 || es[0].Where != path || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDefaultFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "acapcrawl", "config.yaml")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("depth: 5"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := load(t, config.Input{Env: home(t, "XDG_CONFIG_HOME="+dir)}); c.Depth != 5 || c.File != path {
		t.Errorf("depth %d from %s", c.Depth, c.File)
	}
}

// The commented file contains every key once. Loading this file has the same result as loading no
// file, both as it is and with every line uncommented.
func TestTemplate(t *testing.T) {
	text := string(config.Template())
	env := home(t)
	want := load(t, config.Input{Env: env}).Values()

	same := func(text string) {
		t.Helper()
		got := load(t, config.Input{File: file(t, "c.yaml", text), Env: env}).Values()
		for i := range want {
			if fmt.Sprint(got[i].Value) != fmt.Sprint(want[i].Value) {
				t.Errorf("%s: %v, want %v", want[i].Key, got[i].Value, want[i].Value)
			}
		}
	}
	same(text)
	inForce := regexp.MustCompile(`(?m)^#([a-z ])`).ReplaceAllStringFunc(text, func(s string) string {
		if s == "# " {
			return s
		}
		return s[1:]
	})
	inForce = regexp.MustCompile(`(?m)^#(  [a-z_]+: )`).ReplaceAllString(inForce, "$1")
	same(inForce)
	for _, key := range config.Keys() {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if n := len(regexp.MustCompile(`(?m)^ *`+name+`: `).FindAllString(inForce, -1)); n != 1 {
			t.Errorf("%s is set %d times", key, n)
		}
	}
}

// FuzzLoad checks that Load returns, for any file, a configuration or errors of one line that name
// the file.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("delay: 1s\npurposes: []\n"))
	f.Add([]byte("policy:\n  strict: maybe\n"))
	f.Add(config.Template())
	env := []string{"HOME=/home/u"}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Input{File: path, Env: env})
		if err == nil {
			if len(c.Crawler) == 0 || c.Concurrency < 1 || c.PerHost < 1 || c.Delay < 0 || c.MaxBody < 1 {
				t.Errorf("accepted %+v", c)
			}
			return
		}
		for _, e := range all(err) {
			if e.Where != path || strings.Contains(e.Error(), "\n") {
				t.Errorf("%q", e.Error())
			}
		}
	})
}

// all returns each *config.Error that is joined in err. err was returned by Load.
func all(err error) []*config.Error {
	var es []*config.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			es = append(es, all(e)...)
		}
		return es
	}
	var e *config.Error
	if errors.As(err, &e) {
		es = append(es, e)
	}
	return es
}
