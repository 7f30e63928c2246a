package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Template is a configuration file that says what every key means and sets each to its default, commented out: Load of
// it is Load of nothing.
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
	return []byte(b.String())
}

// example is the default as YAML writes it.
func (k key) example() string {
	if s, isText := k.standard.(string); isText && s != "" {
		return s
	}
	text, err := json.Marshal(k.standard)
	if err != nil {
		panic(err) // the table holds texts, numbers, booleans and lists of texts
	}
	return string(text)
}
