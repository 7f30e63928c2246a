package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Template returns a configuration file that explains every key and sets each to its default,
// commented out. Loading it has the same result as loading no file.
func Template() []byte {
	var b strings.Builder
	b.WriteString(`# Configuration of acapcrawl. Every line that sets something is commented out and shows the default.
# A key is also an environment variable: max_pages is ACAPCRAWL_MAX_PAGES, policy.strict is ACAPCRAWL_POLICY_STRICT.
# A flag goes before the environment, the environment before this file.
`)
	section := ""
	for _, k := range keys {
		b.WriteByte('\n')
		for line := range strings.SplitSeq(k.about, "\n") {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		name, indent := k.name, ""
		if s, rest, nested := strings.Cut(k.name, "."); nested {
			if s != section {
				fmt.Fprintf(&b, "#%s:\n", s)
			}
			section, name, indent = s, rest, "  "
		}
		fmt.Fprintf(&b, "#%s%s: %s\n", indent, name, k.example())
	}
	b.WriteString(jobsTemplate)
	return []byte(b.String())
}

// jobsTemplate explains jobs, with an example that is commented out.
const jobsTemplate = `
# Jobs are crawls with a name. "acapcrawl crawl news" starts the job news, and "acapcrawl watch" starts each job that is
# due by its schedule: @hourly, @daily, @weekly, @monthly, @every 12h, or minute, hour, day, month and weekday as in
# 30 4 * * 1. A job can have every setting of a crawl, which replaces the one above. A job with settings about the crawler
# or its purposes needs a data directory of its own.
#
# jobs:
#   news:
#     seeds: [https://example.com/]
#     schedule: "@daily"
#     recrawl_min: 12h # visit pages again after this time; by default every page is visited once
#     scope: domain
#     max_time: 2h
#     keep: 365d # after each crawl, erase what was fetched longer ago
#     quota: 10GB # of bodies that are kept
`

// example returns the default value in YAML.
func (k key) example() string {
	if s, isText := k.standard.(string); isText && s != "" {
		return s
	}
	text, err := json.Marshal(k.standard)
	if err != nil {
		panic(err) // cannot happen: all default values are strings, numbers, booleans and lists of strings
	}
	return string(text)
}
